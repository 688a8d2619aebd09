import TransferModel
import TransferRPC

/// What `add -w`, `wait` and `watch` share: they choose the display, and end with the same exit status.
extension CommandSession {
    /// Shows the tasks in `known` until all of them are over.
    /// - Throws: `CommandFailure.taskFailed` if a task failed or was cancelled; `.timedOut` if the time limit has passed.
    func follow(
        _ known: [FollowedTask], after head: SequenceNumber, within limit: FollowLimit? = nil,
        _ client: any DaemonCalling
    ) async throws {
        var plan = FollowPlan(tasks: known.map(\.id), known: known, after: head)
        plan.fetchesEnded = console.json
        var follower = follower(plan, of: client, endsWhenOver: true)
        follower.limit = limit
        let state = try await follower.run(client, display: display)
        await client.close()
        if state.hasFailure { throw CommandFailure.taskFailed }
    }

    func follower(_ plan: FollowPlan, of client: any DaemonCalling, endsWhenOver: Bool) -> Follower {
        console.endWithReader()
        var plan = plan
        var access = access
        if console.isLive {
            // The live display shows this itself, and another line between its own would spoil it.
            access.remark = { _ in }
        } else {
            plan.progressInterval = 1
        }
        let place = client.socketPath
        return Follower(
            plan: plan, endsWhenOver: endsWhenOver,
            onInterrupt: { [console] in
                console.remark("interrupted; the tasks continue in the daemon (dlctl watch shows them)")
            },
            reconnect: { [access] in try await access.reconnect(to: place, $0) })
    }

    var display: any FollowDisplay {
        if console.json { return JSONDisplay(console) }
        if console.quiet { return SilentDisplay { console.complain($0) } }
        if console.isLive { return LiveDisplay(console) }
        return LineDisplay(print: { console.line($0) }, remark: { console.remark($0) })
    }
}
