import Logging
import TransferModel

/// What follows a stored transition outside the store: a line in the log, part files, launches.
struct FollowUp: Sendable {
    let leftParts: LeftParts
    let launches: any LaunchServing
    let logger: Logger

    func log(_ outcome: TaskTransitions.Outcome) {
        let record = outcome.record
        logger.log(
            level: TaskLogFields.level(of: record.status), "\(record.status.state.rawValue)",
            metadata: TaskLogFields.fields(of: record))
    }

    func follow(_ outcomes: [TaskTransitions.Outcome]) async {
        for outcome in outcomes {
            let record = outcome.record
            log(outcome)
            if outcome.discardsPart { await leftParts.discard(record) }
            if record.status.state.isFinal { launches.look(at: record.session) }
        }
    }
}
