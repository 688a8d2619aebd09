import TransferModel

/// What is remembered of a session's launches, so that the next daemon respects it.
package struct LaunchRecord: Hashable, Sendable {
    /// When the program was last started, or failed to start.
    package var startedAt: Timestamp
    /// Starts in a row that failed.
    package var failures: Int
    /// The program that was started last; nil once its end was seen.
    package var program: ProgramIdentity?

    package init(startedAt: Timestamp, failures: Int = 0, program: ProgramIdentity? = nil) {
        self.startedAt = startedAt
        self.failures = failures
        self.program = program
    }
}

/// Distinguishes a process from every other process that has or had its number.
package struct ProgramIdentity: Hashable, Sendable {
    package var pid: Int32
    /// Clock ticks between the machine's boot and its start; proc_pid_stat(5), `starttime`.
    package var startTime: UInt64
    /// The random name that the kernel gave the boot.
    package var boot: String

    package init(pid: Int32, startTime: UInt64, boot: String) {
        self.pid = pid
        self.startTime = startTime
        self.boot = boot
    }
}

extension ProgramIdentity: WireObject {
    package static let shape = Shape("ProgramIdentity", Self(pid: 0, startTime: 0, boot: "")) { row in
        row("pid", \.pid)
        row("startTime", \.startTime)
        row("boot", \.boot)
    }
}

extension StoreSnapshot {
    /// nil if the session's program was never started.
    package func launch(_ session: SessionKey) throws -> LaunchRecord? {
        guard let id = try sessionRow(session),
            let row = try rows("SELECT started_at, failures, program FROM launch WHERE session = ?", id).next()
        else { return nil }
        return LaunchRecord(startedAt: row[0], failures: row[1], program: try row.document(2))
    }
}

extension StoreTransaction {
    /// Replaces what is remembered of the session's launches.
    /// - Throws: `session.not_found`.
    package func setLaunch(_ launch: LaunchRecord, of session: SessionKey) throws {
        try execute(
            Self.launchChange, try existingSession(session), launch.startedAt, launch.failures, launch.program)
    }

    private static let launchChange = SQL(puttingInto: "launch", "session, started_at, failures, program")

    /// The session now has another program than the one that failed.
    package func forgetLaunchFailures(of session: SessionKey) throws {
        guard var launch = try launch(session), launch.failures > 0 else { return }
        launch.failures = 0
        try setLaunch(launch, of: session)
    }

    /// Registers a durable name at the end of the log if it is not known yet: events from now on are unseen.
    package func introduce(_ subscriber: String?, owner: UserID) throws {
        guard let subscriber, try self.subscriber(subscriber, owner: owner) == nil else { return }
        try acknowledge(subscriber, owner: owner, try eventHead())
    }

    /// Ends the launches of all sessions for which this durable name acknowledges, until `session.open` asks for them
    /// again.
    package func endLaunches(for subscriber: String, owner: UserID) throws {
        for var session in try sessions(owner: owner)
        where session.configuration.subscriber == subscriber && session.configuration.sendsLaunchEvents == true {
            session.configuration.sendsLaunchEvents = nil
            try updateSession(session)
        }
    }
}
