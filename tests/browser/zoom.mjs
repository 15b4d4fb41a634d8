// Checks that no page for candidates scrolls sideways at 200 % zoom, with text of twice the size, or at a width of 320
// px.

import { inspect, screenshot, inParallel, visitor } from './browser.mjs';
import { pages } from './pages.mjs';

/// A window of 1280 pixels at 200 % zoom, one of 320 pixels (WCAG 1.4.10), and two with larger text.
const VIEWS = [
  { name: 'zoom-200', width: 640, height: 450, deviceScaleFactor: 2 },
  { name: 'window-320', width: 320, height: 568, deviceScaleFactor: 1 },
  { name: 'texts-200', width: 1280, height: 900, deviceScaleFactor: 1, textSize: '200%' },
  { name: 'texts-200-on-a-telephone', width: 390, height: 844, deviceScaleFactor: 1, textSize: '200%' },
];

/// German has the longest words.
const LANG = 'de';

export async function check(browser, company, fault) {
  const visits = await pages(browser, company, LANG, fault);
  await inParallel(2, VIEWS, async ({ name: view, textSize, ...size }) => {
    const context = await visitor(browser, fault, { ...size, locale: LANG });
    const page = await context.newPage();
    await page.goto(`${process.env.BASE}/careers/${company.acme.slug}`);
    for (const [name, go] of Object.entries(visits)) {
      await go(page);
      await inspect(page, fault);
      if (textSize) {
        await page.evaluate((size) => document.documentElement.style.setProperty('font-size', size), textSize);
      }
      const wide = await page.evaluate(() => {
        document.querySelectorAll('details').forEach((element) => element.setAttribute('open', ''));
        const { clientWidth, scrollWidth } = document.documentElement;
        // Tables and code in a description may be wider than the window, because they have their own scroll bars.
        const isIn = (element) => element.closest('.prose pre, .prose table, .trap, .skip, .hidden') !== null;
        const over = [...document.querySelectorAll('body *')].filter((element) => {
          const box = element.getBoundingClientRect();
          return box.width > 0 && box.right > clientWidth + 1 && element.checkVisibility() && !isIn(element);
        });
        return { clientWidth, scrollWidth, over: over.slice(0, 3).map((element) => element.outerHTML.slice(0, 120)) };
      });
      if (wide.scrollWidth > wide.clientWidth || wide.over.length > 0) {
        fault(`${view}: ${name} is ${wide.scrollWidth} px wide in a window of ${wide.clientWidth} px: ${wide.over.join(' | ')}`);
        await screenshot(page, `too-wide-${view}-${name}`);
      } else if (['portal', 'role', 'form-with-errors', 'status'].includes(name)) {
        await screenshot(page, `${view}-${name}`);
      }
    }
    await context.close();
  });
}
