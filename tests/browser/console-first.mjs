// Makes a first decision as somebody who tries the sample company. The decision must take at most four clicks or keys
// and at most a minute, counted from the opening of the printed link.

import { screenshot, visitor } from './browser.mjs';
import { base, inspect } from './staff.mjs';

const ACTS_MAX = 4;
const SECONDS_MAX = 60;

export async function check(browser, company, fault) {
  const context = await visitor(browser, fault, { origins: [base], locale: 'en' });
  const page = await context.newPage();
  const began = Date.now();
  let acts = 0;
  const click = (locator) => {
    acts += 1;
    return locator.click();
  };
  await page.goto(process.env.DEMO_LINK);
  await inspect(page, fault);
  await click(page.locator('main form button').first());
  await page.waitForURL(/\/app$/);
  await inspect(page, fault);
  await click(page.locator('main a[href*="/review"]').first());
  await page.waitForURL(/begun=/);
  const name = await page.locator('h1').innerText();
  acts += 1;
  await page.keyboard.press('e');
  await page.locator('#say', { hasText: name }).waitFor();
  const seconds = (Date.now() - began) / 1000;
  await screenshot(page, 'console-first-decision');
  if (acts > ACTS_MAX || seconds > SECONDS_MAX) {
    fault(`the first decision took ${acts} clicks and keys, and ${seconds} s`);
  }
  console.log(`  the first decision took ${acts} clicks and keys, and ${seconds.toFixed(1)} s from the opening of the link`);
  await context.close();
}
