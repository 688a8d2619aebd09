import TransferModel
import TransferRPC

/// A question with the commands that answer it.
enum DecisionLines {
    static func render(_ decision: DecisionView) -> [StyledText] {
        var head = StyledText("\(decision.decision)", .strong)
        head.append("  task \(decision.task)  ")
        head.append(decision.question.kind.rawValue, .warning)
        head.append("  " + sentence(decision.question))
        return [head] + commands(decision).map { StyledText("    " + $0, .accent) }
    }

    /// What is asked.
    static func sentence(_ question: Question) -> String {
        guard let space = question.protectionSpace else { return "It waits for a decision." }
        var text =
            "\(space.isProxy ? "The proxy " : "")\(Printable.text(space.origin)) wants a user name and a password"
        text += " (\(word(space.method)))"
        if let realm = space.realm, !realm.isEmpty {
            text += "; it calls itself \"\(Printable.text(realm, limit: 60))\""
        }
        text += "."
        if let failures = question.previousFailureCount, failures > 0 {
            text += " It has refused \(Figures.count(failures, "credential"))"
            text += question.proposedUser.map { ", the last of user \(Printable.text($0, limit: 40))." } ?? "."
        }
        return text
    }

    /// How it is answered.
    static func commands(_ decision: DecisionView) -> [String] {
        decision.question.kind.actions.filter { $0 != .performDefaultHandling }.map { action in
            "dlctl answer \(decision.decision) \(action.rawValue)" + (action == .useCredential ? " --user NAME" : "")
        }
    }

    private static func word(_ method: AuthenticationMethod) -> String {
        switch method {
        case .httpBasic: "Basic"
        case .httpDigest: "Digest"
        }
    }
}
