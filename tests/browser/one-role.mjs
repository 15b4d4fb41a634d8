// An organization with one role whose candidates are all at its first step.

/// Returns an interchange document. `staff` is the address of a moderator.
export function oneRole({ slug, staff, steps, count, portal }) {
  const candidate = (nth) => ({
    id: `cand_${nth}`, applicationId: `app_${nth}`, name: `Candidate ${nth}`, email: `candidate.${nth}@people.example`,
    steps: steps.map((_, order) => ({ id: `cstep_${nth}_${order}`, roleStepId: `step_${order}`, status: order === 0 ? 'in_progress' : 'pending' })),
  });
  const candidates = Array.from({ length: count }, (_, nth) => candidate(nth));
  const pipeline = steps.map((name, order) => ({ id: `step_${order}`, name }));
  const roles = [{ id: `role_${slug}`, name: 'Engineer', status: 'open', public: true, positions: 3, steps: pipeline, candidates }];
  const members = [{ userId: 'user_moderator', orgRole: 'moderator' }];
  return {
    users: [{ id: 'user_moderator', email: staff, name: 'Ingrid Aalto' }],
    organizations: [{ id: `org_${slug}`, slug, name: slug, members, roles, ...(portal ? { portal } : {}) }],
  };
}
