// The kinds of pages that candidates can reach.

import { close } from './company.mjs';
import { WORDS, applied, fill, open, send } from './browser.mjs';

/// Sends a form with errors.
async function sendWithErrors(page, lang) {
  await page.locator('main form').evaluate((form) => form.setAttribute('novalidate', ''));
  await fill(page, { name: 'Ada', email: 'nowhere', links: 'nothing' });
  await send(page, lang, Date.now());
}

let nth = 0;

/// Returns each page in one language: its name, and a function that opens it. First creates the applications that the
/// pages show.
export async function pages(browser, company, lang, fault) {
  const { acme, empty, closed, draft, roles, engineer } = company;
  const role = roles.pop();
  const candidate = (role) => {
    nth += 1;
    return applied(browser, fault, { slug: acme.slug, role, lang, person: { email: `page.${nth}@example.org`, note: 'Hello.' } });
  };
  // This role is closed after a candidate has applied, so its form is no longer available.
  const last = roles.pop();
  const [one, two, ended] = await Promise.all([role, role, last].map(candidate));
  await close(last);
  const slug = acme.slug;
  const at = (path, status) => (page) => open(page, `${path}${path.includes('?') ? '&' : '?'}lang=${lang}`, fault, status);
  const by = (path, status) => (page) => open(page, path, fault, status);
  return {
    home: at('/'),
    portal: at(`/careers/${slug}`),
    'portal-page-2': at(`/careers/${slug}?page=2`),
    filtered: at(`/careers/${slug}?department=Care&location=Bern&q=nurse`),
    'nothing-found': at(`/careers/${slug}?q=zzyzx`),
    empty: at(`/careers/${empty.slug}`),
    role: at(`/careers/${slug}/roles/${engineer.id}`),
    'no-role': at(`/careers/${slug}/roles/${draft.id}`, 404),
    'no-portal': at('/careers/nobody', 404),
    closed: at(`/careers/${slug}/roles/${closed.id}`, 410),
    privacy: at(`/careers/${slug}/privacy`),
    'privacy-own': at(`/careers/${empty.slug}/privacy`),
    form: by(one.form),
    'form-with-errors': async (page) => {
      await open(page, one.form, fault);
      await sendWithErrors(page, lang);
    },
    'link-ended': async (page) => {
      await page.goto(new URL(ended.form, page.url()).href);
    },
    'no-link': async (page) => {
      await page.goto(new URL(`/signup/inv_nothing?locale=${lang}`, page.url()).href);
    },
    confirmation: at(two.confirmation),
    status: at(two.status),
    withdrawn: async (page) => {
      await open(page, `${one.status}?lang=${lang}`, fault);
      if ((await page.locator('summary', { hasText: WORDS[lang].withdraw }).count()) > 0) {
        await page.locator('summary', { hasText: WORDS[lang].withdraw }).click();
        await page.getByRole('button', { name: WORDS[lang].sure, exact: true }).click();
        await page.waitForLoadState();
      }
    },
    'no-status': at('/status/nothing', 404),
  };
}
