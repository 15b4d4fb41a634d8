// Decides on 200 of a role's 2,000 candidates, with one key press for each, and prints the times from the key press to
// the painted page. Also prints the main thread's time per frame while the board scrolls. Other work on the machine
// changes these times, so the test does not judge them. A missing card or a lost decision is a fault.

import { readFileSync, writeFileSync } from 'node:fs';

import { screenshot } from './browser.mjs';
import { oneRole } from './one-role.mjs';
import { run, serve } from './service.mjs';
import { signedIn } from './staff.mjs';

const CANDIDATES = 2000;
const DECISIONS = 200;
const STAFF = 'moderator@big.example';
const STEPS = ['Applied', 'Screening', 'Interview', 'Offer'];

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/// Returns the milliseconds from the next key press to the moment when the browser has painted the answer.
function decide(page) {
  return page.evaluate(() => new Promise((resolve) => {
    let began;
    addEventListener('keydown', (event) => { began = event.timeStamp; }, { capture: true, once: true });
    document.addEventListener('swapped', () => requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(performance.now() - began);
      port2.postMessage(0);
    }), { once: true });
    window.__ready = true;
  }));
}

/// Scrolls the first column. Returns the main thread's mean time for a frame, in milliseconds.
async function scroll(page, context) {
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable');
  const busy = async () => (await session.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
  const before = await busy();
  const frames = await page.evaluate(() => new Promise((resolve) => {
    const list = document.querySelector('#board .cards');
    let frames = 0;
    const step = () => {
      list.scrollTop += 120;
      frames += 1;
      return frames === 120 ? resolve(frames) : requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }));
  return ((await busy() - before) * 1000) / frames;
}

export async function check(browser, _, fault) {
  writeFileSync('big.json', JSON.stringify(oneRole({ slug: 'big', staff: STAFF, steps: STEPS, count: CANDIDATES })));
  await run('import', '--db', 'big.db', 'big.json');
  const { service, base } = await serve(['--db', 'big.db', '--listen', '127.0.0.1:0', '--rate-limit', '0']);
  const context = await signedIn(browser, fault, STAFF, { base, db: 'big.db', locale: 'en' });
  const page = await context.newPage();
  const began = Date.now();
  await page.goto(`${base}/app/big/roles/role_big`);
  const cards = await page.locator('#board .card').count();
  if (cards !== CANDIDATES) {
    fault(`the board shows ${cards} cards`);
  }
  console.log(`  the board of ${cards} cards opened in ${Date.now() - began} ms`);
  await screenshot(page, 'console-speed-board');
  console.log(`  scrolling takes ${(await scroll(page, context)).toFixed(1)} ms of main-thread time per frame`);
  await page.locator('#board .card a').first().focus();
  const times = [];
  for (let nth = 0; nth < DECISIONS; nth += 1) {
    const painted = decide(page);
    await page.waitForFunction(() => window.__ready);
    await page.evaluate(() => { window.__ready = false; });
    await page.keyboard.press('e');
    times.push(await painted);
  }
  times.sort((one, other) => one - other);
  console.log(`  ${DECISIONS} decisions: p50 ${percentile(times, 0.5).toFixed(1)} ms, p95 ${percentile(times, 0.95).toFixed(1)} ms`);
  await context.close();
  service.kill();
  await new Promise((resolve) => service.on('exit', resolve));
  writeFileSync('big-after.json', await run('export', '--db', 'big.db'));
  const { organizations } = JSON.parse(readFileSync('big-after.json', 'utf8'));
  const advanced = organizations[0].roles[0].candidates.filter(({ steps }) => steps[1].status === 'in_progress').length;
  if (advanced !== DECISIONS) {
    fault(`${advanced} candidates are at the second step`);
  }
}
