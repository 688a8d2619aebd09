import TransferModel
import TransferRPC

/// Shows a question with the commands that answer it.
enum DecisionLines {
    /// - Parameter name: of the task; nil if the task is gone.
    static func render(
        _ decision: DecisionView, of name: String?, for asker: Asker = Asker(), now: Timestamp
    ) -> [StyledText] {
        var head = StyledText("\(decision.decision)", .strong)
        head.append("  task \(decision.task)\(name.map { " (\($0))" } ?? "")  ")
        head.append(decision.question.kind.rawValue, .warning)
        head.append("  " + sentence(decision.question))
        let other = unanswered(decision.question, now: now).map { [StyledText("    " + $0)] } ?? []
        return [head] + other + commands(decision).map { StyledText("    " + asker.command($0), .accent) }
    }

    /// The question as a sentence.
    static func sentence(_ question: Question) -> String {
        switch question.kind {
        case .challenge: question.protectionSpace.map { challenge(question, $0) } ?? other
        case .redirect: redirect(question)
        case .begin: "Its time has come: it is about to request \(request(question))."
        case .response: response(question).map { $0 + ": is that wanted?" } ?? other
        case .cache: response(question).map { $0 + ": is that to be kept in the cache?" } ?? other
        }
    }

    private static let other = "It waits for a decision."

    /// What happens if nobody answers; nil if the task waits forever.
    static func unanswered(_ question: Question, now: Timestamp) -> String? {
        question.deadline.map {
            "If nobody answers, dld takes \(question.default.rawValue) at \(LocalTime.text($0, seenFrom: now))."
        }
    }

    private static func redirect(_ question: Question) -> String {
        let status = question.response?.status.map { " (\($0))" } ?? ""
        return "The server redirects\(status) to \(request(question))."
    }

    private static func response(_ question: Question) -> String? {
        guard let response = question.response else { return nil }
        var text = "The server answers" + (response.status.map { " \($0)" } ?? "")
        if let type = response.mimeType { text += ", " + Printable.text(type, limit: 60) }
        if response.expectedLength >= 0 { text += ", " + Figures.bytes(ByteCount(response.expectedLength)) }
        return text
    }

    private static func request(_ question: Question) -> String {
        let method = question.request?.method.map { Printable.text($0, limit: 20) + " " } ?? ""
        return method + Printable.text(question.request?.url ?? "", limit: 200)
    }

    private static func challenge(_ question: Question, _ space: ProtectionSpace) -> String {
        switch space.method {
        case .httpBasic, .httpDigest, .ntlm, .negotiate: password(question, space)
        case .serverTrust: trust(question, space)
        case .clientCertificate: "\(Printable.text(space.origin)) wants a client certificate from you."
        }
    }

    private static func trust(_ question: Question, _ space: ProtectionSpace) -> String {
        let origin = Printable.text(space.origin)
        var text =
            question.keyChanged == true
            ? "\(origin) shows another key than the one that you trusted"
            : "The certificate of \(origin) is not trusted"
        if let reason = question.reason { text += ": \(Printable.text(reason, limit: 200))" }
        text += ". Its key is \(question.key ?? "unknown"); trust it only if its operator tells you the same."
        return text
    }

    private static func password(_ question: Question, _ space: ProtectionSpace) -> String {
        var text =
            "\(space.isProxy ? "The proxy " : "")\(Printable.text(space.origin)) wants a user name and a password"
        text += " (\(space.method.words))"
        if let realm = space.realm, !realm.isEmpty {
            // Quotation marks inside the realm would end ours.
            let name = String(Printable.text(realm, limit: 60).map { $0 == "\"" ? "'" : $0 })
            text += "; it calls itself \"\(name)\""
        }
        text += "."
        if let failures = question.previousFailureCount, failures > 0 {
            text += " It has refused \(Figures.count(failures, "credential"))"
            text += question.proposedUser.map { ", the last of user \(Printable.text($0, limit: 40))." } ?? "."
        }
        if let reason = question.reason { text += " Kerberos says: \(Printable.text(reason, limit: 200))." }
        return text
    }

    /// The commands that answer it.
    static func commands(_ decision: DecisionView) -> [String] {
        let isCertificate = decision.question.protectionSpace?.method == .clientCertificate
        let actions = decision.question.actions
        // If there are two ways to give no credentials, one is enough.
        let isTwice = actions.contains(.rejectProtectionSpace)
        return actions.filter { !isTwice || $0 != .performDefaultHandling }.map { action in
            "dlctl answer \(decision.decision) \(action.rawValue)" + options(action, isCertificate: isCertificate)
        }
    }

    private static func options(_ action: DecisionAction, isCertificate: Bool) -> String {
        switch action {
        case .useCredential: isCertificate ? " --certificate FILE" : " --user NAME"
        case .followWith, .newRequest: " --url URL"
        case .becomeDownload: " --output FILE"
        case .performDefaultHandling, .rejectProtectionSpace, .trust, .cancel, .follow, .refuse, .allow, .continue,
            .store, .memoryOnly, .doNotStore:
            ""
        }
    }
}
