import TransferCore
import TransferModel

/// What was found for a demand for credentials that ended an attempt.
struct CredentialOffer: Sendable {
    /// What a helper had that is no help.
    enum Helper: String, Sendable {
        case nothing, refused, failed
    }

    var space: ProtectionSpace
    /// Sent without asking.
    var found: FoundCredential?
    /// Of the credential that a client who is asked has stored.
    var proposedUser: String?
    /// Something stored would answer the demand, and was refused.
    var isStoredRefused = false
    /// nil if it was not asked, or has given `found`.
    var helper: Helper?

    /// Says in the error of a demand that stays unanswered where credentials were looked for, and for what.
    func explain(_ error: inout TransferError) {
        guard found == nil, error.code == .authRequired else { return }
        error.details["protectionSpace"] = .string(space.origin)
        if space.isProxy { error.details["isProxy"] = true }
        if isStoredRefused {
            error.details["storedCredential"] = "refused"
            error.message += " What is stored for it was refused."
        }
        guard let helper else { return }
        error.details["credentialHelper"] = .string(helper.rawValue)
        error.message += " " + helper.sentence
    }
}

extension CredentialOffer.Helper {
    fileprivate var sentence: String {
        switch self {
        case .nothing: "The credential helper has nothing for it."
        case .refused: "The credential helper gave what was refused."
        case .failed: "The credential helper failed; the daemon's log says why."
        }
    }
}
