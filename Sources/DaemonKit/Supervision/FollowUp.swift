import Logging
import TransferModel

/// What follows a stored transition outside the store: log lines, part files, launches.
struct FollowUp: Sendable {
    let leftParts: LeftParts
    let launches: LaunchService?
    let cookies: CookieKeeper
    let logger: Logger

    func log(_ outcome: TaskTransitions.Outcome) {
        let record = outcome.record
        logger.log(
            level: TaskLogFields.level(of: record.status), "\(record.status.state.rawValue)",
            metadata: TaskLogFields.fields(of: record))
    }

    func follow(_ outcomes: [TaskTransitions.Outcome]) async {
        for outcome in outcomes {
            note(outcome)
            if outcome.discardsPart { await leftParts.discard(outcome.record) }
        }
    }

    /// The part that need not be awaited.
    func note(_ outcome: TaskTransitions.Outcome) {
        log(outcome)
        let status = outcome.record.status
        if status.state.isFinal { cookies.forget(outcome.record.id) }
        if status.state.isFinal || status.awaitsAnswer { launches?.look(at: outcome.record.session) }
    }
}
