import TransferCore
import TransferModel

/// The credentials found for a challenge that ended an attempt.
struct CredentialOffer: Sendable {
    /// Why a helper's answer did not help.
    enum Helper: String, Sendable {
        case nothing, refused, failed
    }

    var space: ProtectionSpace
    /// Sent without asking.
    var found: FoundCredential?
    /// The task's own credential has been sent.
    var wasOwnSent = false
    /// A redirect led here through another origin, so nothing of the task's own was sent by itself.
    var isOwnDropped = false
    /// Why Kerberos failed: its own message.
    var kerberos: String?
    /// The user name of a stored credential that may be proposed to the client.
    var proposedUser: String?
    /// A stored credential would answer the challenge, but was refused.
    var isStoredRefused = false
    /// nil if the helper was not asked, or has supplied `found`.
    var helper: Helper?

    /// Adds to the error of an unanswered challenge where credentials were searched, and for what.
    func explain(_ error: inout TransferError) {
        guard found == nil, error.code == .authRequired else { return }
        error.details["protectionSpace"] = .string(space.origin)
        if space.isProxy { error.details["isProxy"] = true }
        if isStoredRefused {
            error.details["storedCredential"] = "refused"
            error.message += " What is stored for it was refused."
        }
        if let kerberos {
            error.details["kerberos"] = .string(kerberos)
            error.message += " Kerberos says: \(kerberos)."
        }
        guard let helper else { return }
        error.details["credentialHelper"] = .string(helper.rawValue)
        error.message += " " + helper.sentence
    }
}

extension CredentialOffer.Helper {
    fileprivate var sentence: String {
        switch self {
        case .nothing: "The credential helper has no credential for it."
        case .refused: "The credential helper gave what was refused."
        case .failed: "The credential helper failed; the daemon's log says why."
        }
    }
}
