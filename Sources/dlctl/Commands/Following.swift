import TransferModel
import TransferRPC

/// What `add -w`, `wait` and `watch` share: the right display, and the exit status it ends with.
enum Following {
    /// Shows `known` until all are over.
    /// - Throws: `CommandFailure.taskFailed` where one failed or was cancelled.
    static func untilOver(
        _ known: [FollowedTask], after head: SequenceNumber, _ client: any DaemonCalling, _ session: CommandSession
    ) async throws {
        var plan = FollowPlan(tasks: known.map(\.id), known: known, after: head)
        plan.fetchesEnded = session.console.json
        let state = try await follower(plan, endsWhenOver: true, session)
            .run(client, display: display(session.console))
        await client.close()
        if state.hasFailure { throw CommandFailure.taskFailed }
    }

    static func follower(_ plan: FollowPlan, endsWhenOver: Bool, _ session: CommandSession) -> Follower {
        var plan = plan
        if !session.console.isLive { plan.progressInterval = 1 }
        return Follower(
            plan: plan, endsWhenOver: endsWhenOver,
            onInterrupt: { [console = session.console] in
                console.remark("interrupted; the tasks go on in the daemon (dlctl watch shows them)")
            },
            reconnect: { [access = session.access] in await access.connectToRunning() })
    }

    static func display(_ console: Console) -> any FollowDisplay {
        if console.json { return JSONDisplay(console) }
        if console.quiet { return SilentDisplay() }
        if console.isLive { return LiveDisplay(console) }
        return LineDisplay { console.line($0) }
    }
}
