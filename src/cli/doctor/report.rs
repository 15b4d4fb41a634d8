//! The report of `appliance doctor`: problems in the order of their urgency, and parts that were not examined.

/// How soon the operator should act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    /// The service does not work, or data is at risk.
    Now,
    /// The service works, but it will soon stop working, a safeguard is missing, or a file should be deleted.
    Soon,
}

impl Urgency {
    fn word(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Soon => "soon",
        }
    }
}

/// A problem, with the command that corrects it or shows more.
#[derive(Debug)]
struct Finding {
    urgency: Urgency,
    area: &'static str,
    sentence: String,
    command: String,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    findings: Vec<Finding>,
    /// Each part that was not examined, with the reason.
    not_examined: Vec<String>,
}

impl Report {
    pub(super) fn add(
        &mut self,
        urgency: Urgency,
        area: &'static str,
        sentence: impl Into<String>,
        command: impl Into<String>,
    ) {
        self.findings.push(Finding { urgency, area, sentence: sentence.into(), command: command.into() });
    }

    pub(super) fn skip(&mut self, part: impl Into<String>) {
        self.not_examined.push(part.into());
    }

    pub(super) fn count(&self) -> usize {
        self.findings.len()
    }

    pub(super) fn not_examined(&self) -> &[String] {
        &self.not_examined
    }

    /// Returns the rows to print, the most urgent first. Problems of the same urgency stay in the order in
    /// which they were added.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by_key(|finding| finding.urgency);
        let row = |finding: &Finding| {
            let words = [finding.urgency.word(), finding.area, &finding.sentence, &finding.command];
            words.map(str::to_owned).to_vec()
        };
        findings.into_iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_urgent_problems_come_first_and_equally_urgent_ones_keep_their_order() {
        let mut report = Report::default();
        for (urgency, sentence) in
            [(Urgency::Soon, "a"), (Urgency::Now, "b"), (Urgency::Soon, "c"), (Urgency::Now, "d")]
        {
            report.add(urgency, "disk", sentence, "df");
        }
        let rows: Vec<String> = report.rows().into_iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows, ["now disk b df", "now disk d df", "soon disk a df", "soon disk c df"]);
    }
}
