// Decides on candidates of the sample company: in the review queue with keys, and with plain forms without JavaScript,
// both on a candidate's page and in the review queue.

import { screenshot } from './browser.mjs';
import { base, inspect, signedIn } from './staff.mjs';

const RECRUITER = 'ingrid.aalto@halmwind.example.com';

/// Presses a key, waits for the queue to change, and checks that something visible has the focus.
async function press(page, key, fault) {
  const before = await page.locator('#review').getAttribute('data-url');
  await page.keyboard.press(key);
  await page.waitForFunction((url) => document.getElementById('review').dataset.url !== url, before);
  const focus = await page.evaluate(() => ({
    name: document.activeElement.id || document.activeElement.tagName,
    isVisible: document.activeElement !== document.body && document.activeElement.checkVisibility(),
  }));
  if (!focus.isVisible) {
    fault(`after ${key}, nothing visible has the focus: ${focus.name}`);
  }
  return page.locator('h1').innerText();
}

async function checkMessage(page, text, fault) {
  const message = (await page.locator('#say').innerText()).replace(/\s+/g, ' ');
  if (!message.includes(text)) {
    fault(`the message is “${message}” and lacks “${text}”`);
  }
}

/// Advances the first candidate of a queue, undoes the advance, and rejects the candidate. Each act takes one to three
/// keys.
async function review(browser, fault) {
  const context = await signedIn(browser, fault, RECRUITER);
  const page = await context.newPage();
  await page.goto(`${base}/app/halmwind/candidates`);
  await page.locator('main .go').click();
  await page.waitForURL(/begun=/);
  await inspect(page, fault);
  const first = await page.locator('h1').innerText();
  const second = await press(page, 'j', fault);
  if (await press(page, 'k', fault) !== first) {
    fault('K does not lead back');
  }
  if (await press(page, 'e', fault) !== second) {
    fault(`after E, ${second} is not shown`);
  }
  await checkMessage(page, `${first} is now at`, fault);
  if (await press(page, 'z', fault) !== first) {
    fault(`after Z, ${first} is not shown again`);
  }
  await checkMessage(page, `The last decision about ${first} was undone.`, fault);
  await page.keyboard.press('r');
  await page.keyboard.press('3');
  await screenshot(page, 'console-review-reject');
  if (await press(page, 'Enter', fault) !== second) {
    fault(`after R 3 Enter, ${second} is not shown`);
  }
  await checkMessage(page, `${first} was rejected at`, fault);
  await inspect(page, fault);
  await context.close();
}

/// Advances a candidate, undoes the advance, and rejects the candidate, with plain forms at the width of a telephone.
async function withoutScript(browser, fault) {
  const context = await signedIn(browser, fault, RECRUITER, { hasScript: false, width: 390 });
  const page = await context.newPage();
  await page.goto(`${base}/app/halmwind/review`);
  const name = await page.locator('h1').innerText();
  await page.locator('aside.about a[href*="/candidates/"]').click();
  await page.locator('.acts button.go').first().click();
  await page.waitForURL(/done=/);
  await page.getByText(`${name} is now at`).waitFor();
  await screenshot(page, 'console-done-390');
  await page.locator('.notice form button').click();
  await page.getByText(`The last decision about ${name} was undone.`).waitFor();
  await page.goto(`${base}/app/halmwind/review`);
  await page.locator('details.act:last-of-type summary').click();
  await page.locator('input[value=no_response]').check();
  await page.locator('form[action$="/reject"] button').click();
  await page.getByText(`${name} was rejected at`).waitFor();
  await inspect(page, fault);
  await context.close();
}

export async function check(browser, company, fault) {
  await review(browser, fault);
  await withoutScript(browser, fault);
}
