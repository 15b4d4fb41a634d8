//! The scopes of API keys.

use crate::domain::words::words;

words! {
    /// A part of the API that a key may use.
    Scope {
        /// Reads candidates.
        CandidatesRead = "candidates:read",
        /// Changes candidates.
        CandidatesWrite = "candidates:write",
        /// Reads roles.
        RolesRead = "roles:read",
        /// Changes roles.
        RolesWrite = "roles:write",
        /// Decides on candidates: reject and hire.
        PipelineWrite = "pipeline:write",
        /// Reads under `/api/admin`.
        AdminRead = "admin:read",
        /// Changes under `/api/admin`.
        AdminWrite = "admin:write",
    }
}

impl Scope {
    /// The scopes of a key whose maker named none.
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
