// The pipeline of a role: steps are dragged to another position, moved with the keyboard, and dragged on an outdated
// page. On the board of the role, a candidate is dragged to another step. A new role gets the default pipeline and a
// closing date, is opened, and is copied.

import { writeFileSync } from 'node:fs';

import { screenshot } from './browser.mjs';
import { oneRole } from './one-role.mjs';
import { run, serve } from './service.mjs';
import { inspect, signedIn } from './staff.mjs';

const STAFF = 'staff@steps.example';
const STEPS = ['Applied', 'Screening', 'Interview', 'Offer'];
const PATH = '/app/steps/roles/role_steps';

const names = (page) => page.locator('.pipeline .step b [dir=auto]').allInnerTexts();

function expectEqual(what, actual, expected, fault) {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    fault(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  }
}

/// Presses the mouse button on one element and moves the pointer over another one.
async function dragOver(page, item, target) {
  const [from, to] = [await item.boundingBox(), await target.boundingBox()];
  await page.mouse.move(from.x + 40, from.y + from.height / 2);
  await page.mouse.down();
  await page.mouse.move(to.x + 60, to.y + to.height / 2, { steps: 3 });
}

const step = (page, nth) => page.locator('.pipeline > li').nth(nth).locator('.step');

/// Performs an act that sends a form, and waits for the next page. Returns the status of the answer to the form.
async function sends(page, act) {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST');
  const loaded = page.waitForEvent('load');
  await act();
  await loaded;
  return (await answered).status();
}

async function drag(page, fault) {
  await dragOver(page, step(page, 3), step(page, 1));
  expectEqual('the number of marked steps', await page.locator('.pipeline > .over').count(), 1, fault);
  await screenshot(page, 'console-steps-drag');
  await page.keyboard.press('Escape');
  expectEqual('elements of the drag after Escape', await page.locator('.ghost, .over, .lifted').count(), 0, fault);
  await page.mouse.up();
  expectEqual('after Escape', await names(page), STEPS, fault);

  await dragOver(page, step(page, 3), step(page, 1));
  expectEqual('the status', await sends(page, () => page.mouse.up()), 303, fault);
  expectEqual('dragged up', await names(page), ['Applied', 'Offer', 'Screening', 'Interview'], fault);
  await dragOver(page, step(page, 0), step(page, 3));
  await sends(page, () => page.mouse.up());
  expectEqual('dragged down', await names(page), ['Offer', 'Screening', 'Interview', 'Applied'], fault);
  await inspect(page, fault);

  // A click, and a drag to an element that is not a step, change nothing.
  await step(page, 0).click();
  await dragOver(page, step(page, 0), page.locator('#add'));
  await page.mouse.up();
  expectEqual('dropped elsewhere', await names(page), ['Offer', 'Screening', 'Interview', 'Applied'], fault);

  await page.locator('.updown button[value=up]').nth(3).focus();
  await sends(page, () => page.keyboard.press('Enter'));
  expectEqual('moved by a button', await names(page), ['Offer', 'Screening', 'Applied', 'Interview'], fault);
}

/// Drags a step that somebody else has moved in the meantime.
async function conflict(page, other, url, fault) {
  await other.goto(url);
  await dragOver(page, step(page, 0), step(page, 2));
  await sends(page, () => page.mouse.up());
  await dragOver(other, step(other, 0), step(other, 1));
  expectEqual('a conflict', await sends(other, () => other.mouse.up()), 409, fault);
  await other.getByText('somebody else has changed the steps').waitFor();
  expectEqual('after a conflict', await names(other), ['Screening', 'Applied', 'Offer', 'Interview'], fault);
  await inspect(other, fault);
}

/// Drags a candidate on the board.
async function board(page, url, fault) {
  await page.goto(url);
  const column = (nth) => page.locator('.column[data-step]').nth(nth);
  const cards = (nth) => column(nth).locator('.card').count();
  const counts = async () => [await cards(0), await cards(1)];
  const before = await counts();
  const [from, to] = before[0] > 0 ? [0, 1] : [1, 0];
  await dragOver(page, column(from).locator('.card').first(), column(to));
  await page.keyboard.press('Escape');
  await page.mouse.up();
  expectEqual('the board after Escape', await counts(), before, fault);
  await dragOver(page, column(from).locator('.card').first(), column(to));
  await page.mouse.up();
  await column(to).locator('.card').first().waitFor();
  expectEqual('cards at the step that the candidate left', await cards(from), before[from] - 1, fault);
  await inspect(page, fault);
}

/// Creates a role with the default pipeline and a closing date, opens it, and copies it.
async function life(page, base, fault) {
  await page.goto(`${base}/app/steps/roles/new`);
  await page.fill('[name=name]', 'Gardener');
  await page.fill('[name=closesOn]', '2020-01-01');
  const save = () => sends(page, () => page.locator('main form button.go').first().click());
  expectEqual('a closing date in the past', await save(), 400, fault);
  await page.locator('#closesOn-error').waitFor();
  const day = new Date(Date.now() + 5 * 86_400_000);
  await page.fill('[name=closesOn]', day.toISOString().slice(0, 10));
  expectEqual('a new role', await save(), 303, fault);
  await sends(page, () => page.getByRole('button', { name: 'Begin with Applied, Screening, Interview, Offer' }).click());
  expectEqual('the default pipeline', await names(page), STEPS, fault);
  await sends(page, () => page.locator('form[action$="/open"] button').click());
  const preview = page.frameLocator('iframe[name=preview]');
  const words = day.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' });
  await preview.getByText(words).waitFor();

  await page.locator('a[href*="copy="]').click();
  await page.waitForURL(/copy=/);
  expectEqual('the name of a copy', await page.inputValue('[name=name]'), 'Gardener (copy)', fault);
  expectEqual('the closing date of a copy', await page.inputValue('[name=closesOn]'), '', fault);
  await preview.getByRole('heading', { name: 'Gardener (copy)' }).waitFor();
  expectEqual('the closing date in the preview of a copy', await preview.getByText(words).count(), 0, fault);
  expectEqual('a copy', await save(), 303, fault);
  expectEqual('the steps of a copy', await names(page), STEPS, fault);
  await inspect(page, fault);
}

export async function check(browser, _, fault) {
  writeFileSync('steps.json', JSON.stringify(oneRole({ slug: 'steps', staff: STAFF, steps: STEPS, count: 3 })));
  await run('bootstrap-admin', '--db', 'steps.db', '--email', 'admin@steps.example');
  await run('import', '--db', 'steps.db', 'steps.json');
  const { service, base } = await serve(['--db', 'steps.db', '--listen', '127.0.0.1:0', '--rate-limit', '0']);
  const context = await signedIn(browser, fault, STAFF, { base, db: 'steps.db', locale: 'en' });
  const [page, other] = [await context.newPage(), await context.newPage()];
  await page.goto(`${base}${PATH}/steps`);
  await drag(page, fault);
  await conflict(page, other, `${base}${PATH}/steps`, fault);
  await board(page, base + PATH, fault);
  await life(page, base, fault);
  await context.close();
  service.kill();
  await new Promise((resolve) => service.on('exit', resolve));
  await run('check', '--db', 'steps.db');
}
