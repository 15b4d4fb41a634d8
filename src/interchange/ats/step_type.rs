//! The types of steps, which are derived from the names of stages.

use crate::domain::candidate_step::StepType;

/// Returns the type of the step for a stage with this name. The type is derived from the words in the name, because
/// most systems have no stage types.
pub(in crate::interchange) fn step_type(name: &str) -> StepType {
    // The order matters: an "Offer Call" is an offer, and a "Reference Interview" is a reference check.
    const KNOWN: [(StepType, &[&str]); 6] = [
        (StepType::Offer, &["offer"]),
        (StepType::ReferenceCheck, &["reference", "references", "background"]),
        (
            StepType::Assessment,
            &[
                "test",
                "tests",
                "assessment",
                "assignment",
                "exercise",
                "challenge",
                "take home",
                "homework",
                "case study",
            ],
        ),
        (StepType::Interview, &["interview", "interviews", "face to face", "onsite", "on site", "panel"]),
        (StepType::Screening, &["screen", "screening", "phone", "call", "preliminary"]),
        (StepType::Application, &["application", "applications", "resume", "cv", "applied"]),
    ];
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let text = format!(" {} ", words.join(" "));
    let contains = |wanted: &&str| text.contains(&format!(" {wanted} "));
    let found = KNOWN.iter().find(|(_, wanted)| wanted.iter().any(&contains));
    found.map_or(StepType::Other, |(step_type, _)| *step_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_types_are_derived_from_stage_names() {
        for (name, expected) in [
            ("Application Review", StepType::Application),
            ("Resume review", StepType::Application),
            ("Preliminary Phone Screen", StepType::Screening),
            ("Recruiter Phone Screen", StepType::Screening),
            ("Call", StepType::Screening),
            ("Phone Interview", StepType::Interview),
            ("Face to Face", StepType::Interview),
            ("On-site", StepType::Interview),
            ("Take Home Test", StepType::Assessment),
            ("Take-home", StepType::Assessment),
            ("CASE STUDY", StepType::Assessment),
            ("Reference Check", StepType::ReferenceCheck),
            ("Background Check", StepType::ReferenceCheck),
            ("Offer", StepType::Offer),
            ("Offer call", StepType::Offer),
            ("Latest Contestants", StepType::Other),
            ("Officer", StepType::Other),
            ("", StepType::Other),
        ] {
            assert_eq!(step_type(name), expected, "{name}");
        }
    }
}
