// Checks that pages display scripts in names, texts and queries, and never execute them.

import { HOSTILE } from './company.mjs';
import { WORDS, applied, field, fill, inspect, open, screenshot, send, visitor } from './browser.mjs';

export async function check(browser, { hostile, trap, acme }, fault) {
  const person = {
    name: `Eve ${HOSTILE.script}${HOSTILE.image}`, email: 'eve@example.org', phone: `1 ${HOSTILE.script.slice(0, 40)}`,
    links: "https://example.org/?q='-(window.__canary=31)-'&x=javascript:window.__canary=32", note: Object.values(HOSTILE).join('\n'),
  };
  const { form, confirmation, status } = await applied(browser, fault, { slug: hostile.slug, role: trap, person });
  const context = await visitor(browser, fault);
  const page = await context.newPage();
  const query = encodeURIComponent(`${HOSTILE.attribute}${HOSTILE.script}`);
  const portal = `/careers/${hostile.slug}`;
  const department = encodeURIComponent(`Care ${HOSTILE.image}${HOSTILE.template}`);
  for (const path of [
    portal, `${portal}?department=${department}`, `${portal}/roles/${trap.id}`, `${portal}/privacy`, form, confirmation, status,
    `/careers/${acme.slug}?q=${query}`, `/careers/${acme.slug}?q=${query}&department=${query}&location=${query}&lang=${query}`,
  ]) {
    await open(page, path, fault);
    await hover(page);
    await inspect(page, fault);
  }
  await open(page, `/careers/${query.replaceAll('%2F', '')}`, fault, 404);
  await open(page, `${portal}/roles/${trap.id}`, fault);
  await screenshot(page, 'hostile-role');
  const shown = await page.locator('main').innerText();
  for (const text of [`Trap ${HOSTILE.attribute}`, HOSTILE.template, HOSTILE.image]) {
    if (!shown.includes(text)) {
      fault(`the page of the role does not show ${text}`);
    }
  }
  // After an error, the form shows the entered values again, as text only.
  await open(page, form, fault);
  const openedAt = Date.now();
  await page.locator('main form').evaluate((element) => element.setAttribute('novalidate', ''));
  const typed = { ...person, email: HOSTILE.attribute, links: HOSTILE.title };
  await fill(page, typed);
  await send(page, 'en', openedAt);
  await inspect(page, fault);
  await screenshot(page, 'hostile-form');
  for (const [name, value] of Object.entries(typed)) {
    if ((await field(page, name).inputValue()) !== value) {
      fault(`${name} is shown again as ${await field(page, name).inputValue()}`);
    }
  }
  await open(page, status, fault);
  await screenshot(page, 'hostile-status');
  const has = await page.locator('main').innerText();
  for (const text of [person.name, HOSTILE.json]) {
    if (!has.includes(text)) {
      fault(`the status page does not show ${text}`);
    }
  }
  await page.locator('summary', { hasText: WORDS.en.withdraw }).click();
  await page.getByRole('button', { name: WORDS.en.sure, exact: true }).click();
  await page.waitForLoadState();
  await inspect(page, fault);
  await context.close();
}

/// Triggers event handlers for the pointer and the focus.
async function hover(page) {
  await page.evaluate(() => {
    for (const element of document.querySelectorAll('main *, header *')) {
      element.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
      element.focus?.();
    }
  });
}
