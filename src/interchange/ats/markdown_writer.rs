//! Writes Markdown: text, paragraphs, line breaks, lists and emphasis. The writer escapes the characters of the text
//! that have a meaning in Markdown. It does not parse HTML.

/// The maximum number of digits in the number of a list item.
const NUMBER_DIGITS_MAX: usize = 9;

/// The maximum number of nested lists that are indented. Without a limit, the text could become much longer than its
/// source.
const LISTS_INDENTED_MAX: usize = 8;

/// The characters that are escaped everywhere.
const SPECIAL: &[char] = &['\\', '*', '_', '`', '[', ']', '<', '~'];

/// The characters that are escaped at the beginning of a line.
const SPECIAL_AT_START: &[char] = &['#', '+', '-', '>', '='];

/// The separation of the next character from the text before it. A later variant separates more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    /// A line break inside a paragraph.
    Break,
    /// The end of a list item.
    Item,
    Paragraph,
}

/// The kinds of emphasis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emphasis {
    Weak,
    Strong,
}

impl Emphasis {
    fn marker(self) -> &'static str {
        match self {
            Self::Weak => "*",
            Self::Strong => "**",
        }
    }
}

/// A list that has begun.
struct List {
    /// The number of the next item, for a numbered list.
    next: Option<usize>,
    /// The width of the marker of the current item; 0 before the first item, and in a list that is nested too deeply to
    /// be indented.
    width: usize,
}

/// The position in the line, which determines the characters that are escaped.
#[derive(Default, PartialEq, Eq)]
enum Line {
    #[default]
    Start,
    /// The line so far consists of this many digits.
    Digits(usize),
    Middle,
}

/// Builds a Markdown text. Gaps, markers of items and the start markers of emphasis are written only before the next
/// character. Therefore, the text does not begin or end with a gap, no item or emphasis is empty, and no white space
/// follows a start marker.
#[derive(Default)]
pub(super) struct MarkdownWriter {
    out: String,
    gap: Gap,
    lists: Vec<List>,
    /// The marker of an item that has no text yet.
    marker: Option<String>,
    /// The emphasis that has begun, the outermost first, and whether its marker is written.
    emphasis: Vec<(Emphasis, bool)>,
    /// The last end marker, and the length of the text up to and including it.
    ended: Option<(Emphasis, usize)>,
    line: Line,
}

impl MarkdownWriter {
    /// Appends a character of the text. Collapses white space as browsers do and, unlike browsers, also collapses
    /// no-break spaces.
    pub(super) fn push(&mut self, character: char) {
        if character.is_whitespace() {
            return self.separate(Gap::Space);
        }
        self.write_gap();
        self.write_emphasis();
        let is_special = match self.line {
            Line::Start => SPECIAL_AT_START.contains(&character),
            Line::Digits(_) => matches!(character, '.' | ')'),
            Line::Middle => false,
        };
        if is_special || SPECIAL.contains(&character) {
            self.out.push('\\');
        }
        self.out.push(character);
        self.line = match self.line {
            Line::Start if character.is_ascii_digit() => Line::Digits(1),
            Line::Digits(count) if character.is_ascii_digit() && count < NUMBER_DIGITS_MAX => Line::Digits(count + 1),
            _ => Line::Middle,
        };
    }

    /// Appends a character that was written as an entity. `rest` is the text after it, which must not become an entity
    /// together with an `&`.
    pub(super) fn push_entity(&mut self, character: char, rest: &str) {
        if character == '&' && rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '#') {
            self.write_gap();
            self.write_emphasis();
            self.out.push('\\');
        }
        self.push(character);
    }

    /// Separates the next character from the text by at least this gap.
    pub(super) fn separate(&mut self, gap: Gap) {
        self.gap = self.gap.max(gap);
    }

    /// Breaks the line. A second break ends the paragraph.
    pub(super) fn break_line(&mut self) {
        self.separate(if self.gap == Gap::Break { Gap::Paragraph } else { Gap::Break });
    }

    pub(super) fn begin_list(&mut self, is_numbered: bool) {
        self.separate(self.gap_around_list());
        self.lists.push(List { next: is_numbered.then_some(1), width: 0 });
    }

    pub(super) fn end_list(&mut self) {
        self.lists.pop();
        self.marker = None;
        self.separate(self.gap_around_list());
    }

    /// Begins an item of the innermost list, or of a list with bullets if no list has begun.
    pub(super) fn begin_item(&mut self) {
        self.separate(Gap::Item);
        let Some(list) = self.lists.last_mut() else {
            self.marker = Some("- ".to_owned());
            return;
        };
        let marker = match &mut list.next {
            Some(number) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            None => "- ".to_owned(),
        };
        list.width = 0;
        let indent: usize = self.lists.iter().map(|list| list.width).sum();
        let is_deep = self.lists.len() > LISTS_INDENTED_MAX;
        if let Some(list) = self.lists.last_mut() {
            list.width = if is_deep { 0 } else { marker.len() };
        }
        self.marker = Some(format!("{}{marker}", " ".repeat(indent)));
    }

    pub(super) fn begin_emphasis(&mut self, emphasis: Emphasis) {
        self.emphasis.push((emphasis, false));
    }

    /// Ends the innermost emphasis of this kind, and writes its marker directly after the text. Emphasis inside it is
    /// interrupted.
    pub(super) fn end_emphasis(&mut self, emphasis: Emphasis) {
        let Some(at) = self.emphasis.iter().rposition(|(begun, _)| *begun == emphasis) else { return };
        if self.emphasis[at].1 {
            self.interrupt_emphasis(at);
        }
        self.emphasis.remove(at);
    }

    /// Returns the text.
    pub(super) fn finish(mut self) -> String {
        self.interrupt_emphasis(0);
        self.out
    }

    fn gap_around_list(&self) -> Gap {
        if self.lists.is_empty() { Gap::Paragraph } else { Gap::Item }
    }

    /// Writes the gap before the next character, and the marker of an item or the indentation that belongs there.
    fn write_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let marker = self.marker.take();
        if gap >= Gap::Item || marker.is_some() {
            self.interrupt_emphasis(0);
        }
        let is_first = self.out.is_empty();
        if !is_first {
            self.out.push_str(match gap {
                Gap::None if marker.is_some() => "\n",
                Gap::None => "",
                Gap::Space => " ",
                Gap::Break => "\\\n",
                Gap::Item => "\n",
                Gap::Paragraph => "\n\n",
            });
        }
        if is_first || gap >= Gap::Break || marker.is_some() {
            self.line = Line::Start;
            match marker {
                Some(marker) => self.out.push_str(&marker),
                None => {
                    let indent: usize = self.lists.iter().map(|list| list.width).sum();
                    self.out.push_str(&" ".repeat(indent));
                }
            }
        } else if gap == Gap::Space {
            self.line = Line::Middle;
        }
    }

    /// Writes the markers of the emphasis that has begun. Emphasis inside emphasis of the same kind has no marker.
    fn write_emphasis(&mut self) {
        for at in 0..self.emphasis.len() {
            let (emphasis, is_written) = self.emphasis[at];
            let is_inside = self.emphasis[..at].iter().any(|(outer, _)| *outer == emphasis);
            if is_written || is_inside {
                continue;
            }
            self.emphasis[at].1 = true;
            if self.ended == Some((emphasis, self.out.len())) {
                // The same emphasis continues.
                self.out.truncate(self.out.len() - emphasis.marker().len());
            } else {
                self.out.push_str(emphasis.marker());
            }
        }
    }

    /// Writes the end markers of the emphasis from the index `from` on, the innermost first. The next character begins
    /// that emphasis again.
    fn interrupt_emphasis(&mut self, from: usize) {
        for (emphasis, is_written) in self.emphasis[from..].iter_mut().rev() {
            if std::mem::take(is_written) {
                self.out.push_str(emphasis.marker());
                self.ended = Some((*emphasis, self.out.len()));
            }
        }
    }
}
