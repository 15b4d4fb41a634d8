// Follows the links of the staff console, and checks every page that it visits: its content, its accessibility (in each
// language, in light and dark mode, and with forced colours), and its width in small windows. A short run checks the
// pages in English and German, and colours in English only.

import { LANGUAGES, hasEveryLook, inParallel, screenshot, visitor } from './browser.mjs';
import { base, crawl, inspect, linkOf, signedIn } from './staff.mjs';
import { rulesFor, violations } from './accessible.mjs';

/// The user who opens the pages in each language. The use of a sign-in link ends the user's other sessions, so each
/// language has a user of its own.
const STAFF = {
  en: 'ingrid.aalto@halmwind.example.com',
  de: 'tomasz.wolny@halmwind.example.com',
  fr: 'selma.dogan@halmwind.example.com',
  es: 'pieter.vandijk@halmwind.example.com',
};

/// The user whose sign-in link is opened but not used.
const INVITED = 'marcus.adeyemi@halmwind.example.com';

/// The widths of a window of 1280 px at 100 %, 200 % and 400 % zoom, and of a telephone.
const WIDTHS = [1280, 640, 320, 390];

/// Checks the current page with each colour scheme and with forced colours.
async function inColours(page, name, lang, fault) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const violation of await violations(page, rulesFor(lang, colorScheme))) {
      fault(`${name} in ${lang}, ${colorScheme}: ${violation}`);
    }
    if (lang === 'en') {
      await screenshot(page, `console-${name}-1280-${colorScheme}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
  for (const violation of await violations(page)) {
    fault(`${name} in ${lang}, forced colours: ${violation}`);
  }
  await page.emulateMedia({ forcedColors: 'none' });
}

/// Checks the current page in each colour scheme, with forced colours, and at each width. In languages other than
/// English, a short run leaves out the colour schemes and the forced colours.
async function everywhere(page, name, lang, fault) {
  if (hasEveryLook(lang)) {
    await inColours(page, name, lang, fault);
  }
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 844 });
    const size = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      const over = [...document.querySelectorAll('main *')]
        .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > clientWidth + 1);
      return { scrollWidth, clientWidth, over: over.slice(0, 3).map((element) => element.outerHTML.slice(0, 120)) };
    });
    if (size.scrollWidth > size.clientWidth) {
      fault(`${name} in ${lang} is ${size.scrollWidth} px wide in a window of ${size.clientWidth} px: ${size.over.join(' | ')}`);
    }
    if (width === 390) {
      // At the end of the page, the navigation bar must not cover anything.
      await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
      for (const violation of await violations(page, rulesFor(lang, 'light'))) {
        fault(`${name} in ${lang}, ${width} px: ${violation}`);
      }
      if (lang === 'en' || lang === 'de') {
        await screenshot(page, `console-${name}-${width}-${lang}`);
      }
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

/// Checks the pages that need no session.
async function signInPages(browser, lang, fault) {
  const context = await visitor(browser, fault, { locale: lang, origins: [base] });
  const page = await context.newPage();
  const link = await linkOf(INVITED);
  for (const [name, url] of [['sign-in', `${base}/sign-in`], ['join', link], ['join-gone', `${base}/join/none`]]) {
    await page.goto(url);
    await inspect(page, fault);
    await everywhere(page, name, lang, fault);
  }
  await context.close();
}

export async function check(browser, company, fault) {
  const counts = [];
  await inParallel(2, LANGUAGES, async (lang) => {
    const context = await signedIn(browser, fault, STAFF[lang], { locale: lang });
    counts.push(await crawl(context, base, fault, async (page, name, path) => {
      await inspect(page, fault);
      const has = await page.locator('html').getAttribute('lang');
      if (has !== lang) {
        fault(`${path} is in ${has}, not ${lang}`);
      }
      // Check collapsed content too.
      await page.evaluate(() => document.querySelectorAll('details').forEach((element) => element.setAttribute('open', '')));
      await everywhere(page, name, lang, fault);
    }));
    await context.close();
    await signInPages(browser, lang, fault);
  });
  console.log(`  ${counts.join(', ')} pages in ${LANGUAGES.join(', ')}`);
}
