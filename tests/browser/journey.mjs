// The journey of a candidate: portal, role, form, confirmation, status page, withdrawal. Four candidates make this
// journey, at two widths, with JavaScript and without, each in a different language.

import { base, call, download } from './company.mjs';
import { WORDS, apply, field, fill, inspect, open, screenshot, send, inParallel, visitor } from './browser.mjs';

const RUNS = [
  { lang: 'en', width: 390, hasScript: false },
  { lang: 'de', width: 1280, hasScript: false },
  { lang: 'fr', width: 390, hasScript: true },
  { lang: 'es', width: 1280, hasScript: true },
];

/// A small PDF with different bytes for each candidate.
export const cv = (name) => Buffer.from(`%PDF-1.4\n% ${name} ${'.'.repeat(150_000)}\ntrailer\n<<>>\n%%EOF\n`);

export async function check(browser, company, fault) {
  await inParallel(2, RUNS, async (run) => {
    const name = `${run.lang} ${run.width} ${run.hasScript ? 'with' : 'without'} script`;
    const context = await visitor(browser, fault, { ...run, locale: run.lang, height: 844 });
    try {
      await travel(await context.newPage(), context, company, run, (message) => fault(`${name}: ${message}`));
    } catch (error) {
      fault(`${name}: ${error.stack}`);
      const [page] = context.pages();
      await screenshot(page, `journey-${run.lang}-stopped`);
    }
    await context.close();
  });
}

async function travel(page, context, { acme, engineer }, { lang, width, hasScript }, fault) {
  const words = WORDS[lang];
  let nth = 0;
  const arrive = async (name) => {
    await inspect(page, fault);
    nth += 1;
    await screenshot(page, `journey-${lang}-${width}-${hasScript ? 'script' : 'plain'}-${nth}-${name}`);
  };
  const expect = (message, isTrue) => isTrue || fault(message);

  // The page is in the browser's preferred language, because the path does not name a language.
  await open(page, `/careers/${acme.slug}`, fault);
  expect(`the portal is in ${await page.locator('html').getAttribute('lang')}`, (await page.locator('html').getAttribute('lang')) === lang);
  await arrive('portal');
  await page.getByRole('searchbox').fill('platform');
  await page.getByRole('search').getByRole('button').click();
  await page.waitForURL(/q=platform/);
  expect('the search does not find exactly one role', (await page.locator('main li h3').count()) === 1);
  await arrive('search');
  await page.getByRole('link', { name: engineer.name, exact: true }).click();
  await page.waitForURL(/\/roles\//);
  expect('the page of the role has no heading with its name', (await page.getByRole('heading', { level: 1, name: engineer.name }).count()) === 1);
  expect('the role shows no salary', /1[1.,’'\s\u00a0\u202f]*10[.,’'\s\u00a0\u202f]*000/u.test(await page.locator('main').innerText()));
  await arrive('role');

  let openedAt = await apply(page, lang);
  await arrive('form');
  const person = {
    name: `Zoë Müller-${width}`, email: `zoe.${lang}@example.org`, phone: '+41 44 123 45 67',
    links: 'not an address', note: 'Two lines,\nand "quotes" & <brackets>.',
  };
  await fill(page, person);
  await field(page, 'cv').setInputFiles({ name: `Müller ${lang}.pdf`, mimeType: 'application/pdf', buffer: cv(lang) });
  await field(page, 'consent').check();
  openedAt = await send(page, lang, openedAt);
  await arrive('form-with-error');
  await checkFormWithError(page, person, `Müller ${lang}.pdf`, expect);

  await field(page, 'links').fill('https://example.org/zoe\nhttps://example.com/jobs');
  await send(page, lang, openedAt);
  await page.waitForURL(/\/status\//);
  await arrive('confirmation');
  const status = new URL(page.url()).pathname;
  expect('the confirmation does not show the status link', (await page.locator('main').innerText()).includes(`${base}${status}`));

  await open(page, status, fault);
  await arrive('status');
  const shown = await page.locator('main').innerText();
  for (const text of [person.name, person.email, person.phone, 'https://example.com/jobs', 'Two lines,', `Müller ${lang}.pdf`]) {
    expect(`the status page does not show ${text}`, shown.includes(text));
  }
  await checkStoredData(context, status, acme, person, lang, expect);

  await page.locator('summary', { hasText: words.withdraw }).click();
  await page.getByRole('button', { name: words.sure, exact: true }).click();
  await page.waitForURL((url) => url.pathname === status);
  await arrive('withdrawn');
  expect('the withdrawn application can be withdrawn again', (await page.getByRole('button', { name: words.sure }).count()) === 0);
  const cookies = await context.cookies();
  const isRight = ({ name, httpOnly, sameSite, expires }) =>
    name.startsWith('applied_') && httpOnly && sameSite === 'Lax' && expires === -1;
  expect(`the browser has cookies with an unexpected name or attribute: ${JSON.stringify(cookies)}`, cookies.every(isRight));
}

/// Checks that the form shows the error next to its field and still has the entered values.
async function checkFormWithError(page, person, file, expect) {
  const links = field(page, 'links');
  expect('the field with the error is not marked', (await links.getAttribute('aria-invalid')) === 'true');
  const described = ((await links.getAttribute('aria-describedby')) ?? '').split(' ').filter((id) => id.includes('error'));
  const error = page.locator(`#${described[0] ?? 'nothing'}`);
  expect('there is no error next to the field', described.length > 0 && (await error.isVisible()));
  expect('another field is marked too', (await page.locator('main form [aria-invalid=true]').count()) === 1);
  for (const [name, value] of Object.entries(person)) {
    expect(`${name} has lost its value`, (await field(page, name).inputValue()) === value);
  }
  expect('the consent box is no longer ticked', await field(page, 'consent').isChecked());
  expect('the form does not name the file', (await page.locator('main form').innerText()).includes(file));
  expect('the title does not mention the error', /error|fehler|erreur/i.test(await page.title()));
}

/// Checks the data that the candidate can download, and the attachment that staff can download.
async function checkStoredData(context, status, acme, person, lang, expect) {
  const data = await context.request.get(`${base}${status}/data`);
  expect('the data export is not sent as a download', (data.headers()['content-disposition'] ?? '').startsWith('attachment'));
  expect('the data export lacks the email address', (await data.text()).includes(person.email));
  const path = `/api/v1/organizations/${acme.id}/candidates?email=${encodeURIComponent(person.email)}`;
  const [{ id }] = await call('GET', path);
  const candidate = await call('GET', `/api/v1/candidates/${id}`);
  const attachments = JSON.stringify(candidate).match(/doc_[A-Za-z0-9_-]+/g) ?? [];
  expect('staff see no attachment', attachments.length > 0);
  if (attachments.length > 0) {
    const { status: answer, bytes } = await download(`/api/v1/candidates/${id}/documents/${attachments[0]}`);
    expect(`staff get a different attachment (${answer}, ${bytes.length} bytes)`, bytes.equals(cv(lang)));
  }
}
