-- The last step from version 5 to version 6, once the chain is there: from here on activities are only appended.
CREATE TRIGGER activities_are_appended
BEFORE INSERT ON activities
WHEN new.number <> (SELECT coalesce(max(number), 0) + 1 FROM activities)
BEGIN
  SELECT raise(ABORT, 'activities are only appended');
END;
CREATE TRIGGER activities_stay
BEFORE DELETE ON activities
BEGIN
  SELECT raise(ABORT, 'activities are only appended');
END;
CREATE TRIGGER activities_stay_as_they_are
BEFORE UPDATE ON activities
WHEN NOT (new.detail = '{}' AND new.salt IS NULL AND new.number = old.number AND new.id = old.id
  AND new.organization_id = old.organization_id AND new.at = old.at AND new.action = old.action
  AND new.user_id IS old.user_id AND new.api_key_id IS old.api_key_id AND new.role_id IS old.role_id
  AND new.candidate_id IS old.candidate_id AND new.candidate_role_id IS old.candidate_role_id
  AND new.candidate_role_step_id IS old.candidate_role_step_id AND new.detail_hash = old.detail_hash
  AND new.hash = old.hash)
BEGIN
  SELECT raise(ABORT, 'activities are only appended');
END;
