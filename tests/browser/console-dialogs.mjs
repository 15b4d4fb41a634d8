// Checks the dialogs and the messages of the staff console for accessibility, in each language, light and dark: the
// list of keys, the choice of a step, the request for a reason, and the messages after a decision and after its undo.

import { LANGUAGES, screenshot } from './browser.mjs';
import { base, inspect, signedIn } from './staff.mjs';
import { violations } from './accessible.mjs';

const STAFF = 'selma.dogan@halmwind.example.com';
const BOARD = `${base}/app/halmwind/roles/role_controls-engineer`;

async function inBothSchemes(page, name, lang, fault) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const violation of await violations(page)) {
      fault(`${name} in ${lang}, ${colorScheme}: ${violation}`);
    }
    if (lang === 'de') {
      await screenshot(page, `console-dialog-${name}-${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/// Opens a dialog with a key, checks it, and closes it. The focus must return to where it was.
async function dialog(page, key, name, lang, fault) {
  const focused = () => page.evaluate(() => document.activeElement.id);
  const before = await focused();
  await page.keyboard.press(key);
  await page.locator('dialog[open]').waitFor();
  await inspect(page, fault);
  await inBothSchemes(page, name, lang, fault);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  if (await focused() !== before) {
    fault(`after ${name} in ${lang}, the focus is on ${await focused()} instead of ${before}`);
  }
}

export async function check(browser, company, fault) {
  for (const lang of LANGUAGES) {
    const context = await signedIn(browser, fault, STAFF, { locale: lang });
    const page = await context.newPage();
    await page.goto(BOARD);
    const card = page.locator('#board .card a[id]').first();
    await card.focus();
    await dialog(page, '?', 'keys', lang, fault);
    await dialog(page, 'Shift+E', 'move', lang, fault);
    await dialog(page, 'r', 'reject', lang, fault);
    const name = await card.innerText();
    await page.keyboard.press('e');
    await page.locator('#say', { hasText: name }).waitFor();
    await inBothSchemes(page, 'decided', lang, fault);
    const said = await page.locator('#say').innerText();
    await page.keyboard.press('z');
    await page.waitForFunction((before) => document.getElementById('say').innerText !== before, said);
    await inBothSchemes(page, 'undone', lang, fault);
    await context.close();
  }
  console.log(`  5 dialogs and messages in ${LANGUAGES.join(', ')}, light and dark`);
}
