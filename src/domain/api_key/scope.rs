//! The scopes of API keys.

use crate::domain::words::words;

words! {
    /// A part of the API that a key may use.
    Scope {
        /// Permits reading candidates.
        CandidatesRead = "candidates:read",
        /// Permits changing candidates.
        CandidatesWrite = "candidates:write",
        /// Permits reading roles.
        RolesRead = "roles:read",
        /// Permits changing roles.
        RolesWrite = "roles:write",
        /// Permits decisions on applications, such as a rejection or a hire.
        PipelineWrite = "pipeline:write",
        /// Permits reading under `/api/admin`.
        AdminRead = "admin:read",
        /// Permits changes under `/api/admin`.
        AdminWrite = "admin:write",
    }
}

impl Scope {
    /// The scopes of a key whose creator named none.
    pub const DEFAULT: [Self; 3] = [Self::CandidatesRead, Self::RolesRead, Self::PipelineWrite];

    /// All scopes.
    pub const ALL: [Self; 7] = [
        Self::CandidatesRead,
        Self::CandidatesWrite,
        Self::RolesRead,
        Self::RolesWrite,
        Self::PipelineWrite,
        Self::AdminRead,
        Self::AdminWrite,
    ];
}
