import Testing
import TransferModel

@testable import TransferCore

struct TaskMachineTests {
    func machine(_ state: TaskState, _ change: (inout TaskStatus) -> Void = { _ in }) -> TaskMachine {
        var status = StateTable.status(state)
        change(&status)
        return TaskMachine(status)
    }

    func failure(
        _ code: ErrorCode = .networkLost, _ disposition: AttemptFailure.Disposition = .transient(after: nil),
        progressed: Bool = false, attempts: Int = 0, jitter: Double = 0.5
    ) -> TaskEvent {
        var spec = RetryPolicySpec()
        spec.attempts = attempts
        return .attemptFailed(
            AttemptFailure(
                error: TransferError(code, "It failed."), disposition: disposition, progressed: progressed),
            RetryPolicy(spec), jitter: jitter)
    }

    // MARK: What holds for every state and event

    @Test(arguments: TaskState.allCases)
    func invariantsHoldAfterEveryEvent(_ state: TaskState) {
        for row in StateTable.rows {
            var machine = machine(state, row.prepare)
            let before = machine.status
            guard let effects = try? machine.handle(row.event, at: reading()) else {
                #expect(machine.status == before, "\(row.name): a refused event must change nothing")
                continue
            }
            let after = machine.status
            #expect(effects.first == .persist, "\(row.name): persist comes first")
            #expect(effects.filter { $0 == .persist }.count == 1)
            #expect((after.reason != nil) == (after.state == .waiting), "\(row.name)")
            #expect(after.nextAttemptAt == nil || after.state == .waiting)
            #expect(after.error == nil || after.state == .waiting || after.state == .failed)
            #expect(after.state != .failed || after.error != nil)
            #expect((after.finishedAt != nil) == after.state.isFinal, "\(row.name)")
            let waitsOn = before.budgetMark == nil && after.reason == .schedule
            let stands = after.state.isFinal || after.state == .paused || waitsOn
            #expect(stands ? after.budgetMark == nil : after.budgetMark != nil, "\(row.name) from \(state)")
        }
    }

    @Test func refusalNamesStateAndEvent() {
        var machine = machine(.completed)
        let error = #expect(throws: TransferError.self) { try machine.handle(.pause, at: reading()) }
        #expect(error?.code == .taskWrongState)
        #expect(error?.details["state"] == "completed")
        #expect(error?.details["event"] == "pause")
    }

    // MARK: Birth

    @Test func aNewTaskIsQueued() {
        let (status, effects) = TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: reading())
        #expect(status.state == .queued)
        #expect(status.budgetMark == reading().boot)
        #expect(effects == [.persist, .publish(.taskAdded, ["state": "queued"])])
    }

    @Test func aNewTaskMayBePaused() {
        let (status, effects) = TaskMachine.added(startPaused: true, earliestBeginAt: reading(5).wall, at: reading())
        #expect(status.state == .paused)
        #expect(status.budgetMark == nil)
        #expect(effects.last == .publish(.taskPaused, [:]))
    }

    @Test func aNewTaskWaitsForItsTime() {
        let begin = reading(60).wall
        let (status, effects) = TaskMachine.added(startPaused: false, earliestBeginAt: begin, at: reading())
        #expect(status.state == .waiting)
        #expect(status.reason == .schedule)
        #expect(status.nextAttemptAt == begin)
        #expect(status.budgetMark == nil, "the budget runs from the first queueing")
        #expect(
            effects.last
                == .publish(
                    .taskWaiting, ["reason": "schedule", "nextAttemptAt": .string(begin.description)]))
        let (late, _) = TaskMachine.added(startPaused: false, earliestBeginAt: reading(-1).wall, at: reading())
        #expect(late.state == .queued)
    }

    // MARK: Running

    @Test func claimCountsAttemptsAndRemembersTheFirst() throws {
        var machine = machine(.queued)
        #expect(try machine.handle(.claimed, at: reading(1)) == [.persist, .publish(.taskStarted, ["attempt": 1])])
        _ = try machine.handle(.preempted(), at: reading(2))
        #expect(try machine.handle(.claimed, at: reading(3)) == [.persist, .publish(.taskStarted, ["attempt": 2])])
        #expect(machine.status.startedAt == reading(1).wall)
    }

    @Test func completionPublishesTheFile() throws {
        var machine = machine(.running)
        let result = TaskResult(file: "/d/f", bytes: 7, sha256: "ab", verified: true)
        let effects = try machine.handle(.completed(result, duration: 2.5), at: reading(9))
        #expect(
            effects == [
                .persist,
                .publish(
                    .taskCompleted,
                    ["bytes": 7, "duration": 2.5, "verified": true, "file": "/d/f", "sha256": "ab"]),
            ])
        #expect(machine.status.finishedAt == reading(9).wall)
    }

    // MARK: Failures

    @Test func backOffDoublesWithFullJitter() throws {
        var machine = machine(.running)
        for expected in [0.5, 1, 2, 4, 8] {
            _ = try machine.handle(failure(), at: reading())
            #expect(machine.status.nextAttemptAt == reading(expected).wall)
            _ = try machine.handle(.conditionCleared, at: reading())
            _ = try machine.handle(.claimed, at: reading())
        }
    }

    /// Only bytes beyond the furthest one of all attempts are progress: a server may cut every answer at the same byte.
    @Test func progressResetsTheBackOff() throws {
        var machine = machine(.running) { $0.failuresInRow = 9 }
        for (held, failures) in [(100, 1), (100, 2), (60, 3), (100, 4), (101, 1), (100, 2)] {
            var lost = AttemptFailure(
                error: TransferError(.networkLost, "Lost.", retryable: true), disposition: .transient(after: nil),
                progressed: true)
            lost.held = ByteCount(Int64(held))
            _ = try machine.handle(.attemptFailed(lost, RetryPolicy(), jitter: 0.5), at: reading())
            #expect(machine.status.failuresInRow == failures)
            if failures == 1 { #expect(machine.status.nextAttemptAt == reading(0.5).wall) }
            _ = try machine.handle(.conditionCleared, at: reading())
            _ = try machine.handle(.claimed, at: reading())
        }
    }

    @Test func retryAfterIsHonouredWithinLimits() throws {
        for (after, expected) in [(0.0, 1.0), (30, 30), (999_999, 86_400)] {
            var machine = machine(.running)
            _ = try machine.handle(failure(.httpStatus, .transient(after: Seconds(after))), at: reading())
            #expect(machine.status.nextAttemptAt == reading(expected).wall)
        }
    }

    /// A server that says "now" or gives a time in the past does not switch off the back-off.
    @Test func retryAfterNeverShortensTheBackOff() throws {
        var machine = machine(.running)
        for expected in [1.0, 1, 2, 4, 8, 16] {
            _ = try machine.handle(failure(.httpStatus, .transient(after: 0)), at: reading())
            #expect(machine.status.nextAttemptAt == reading(expected).wall)
            _ = try machine.handle(.conditionCleared, at: reading())
            _ = try machine.handle(.claimed, at: reading())
        }
    }

    @Test func attemptsEndWithTheLastError() throws {
        var machine = machine(.running)
        _ = try machine.handle(failure(.networkTimeout, attempts: 2), at: reading())
        #expect(machine.status.state == .waiting)
        _ = try machine.handle(.retry, at: reading())
        _ = try machine.handle(.claimed, at: reading())
        let effects = try machine.handle(failure(.networkConnect, attempts: 2), at: reading(3))
        #expect(machine.status.state == .failed)
        #expect(machine.status.error?.code == .networkConnect)
        let error = TransferError(.networkConnect, "It failed.")
        #expect(effects == [.persist, .publish(.taskFailed, ["error": error.jsonValue])])
    }

    @Test func diskAndNetworkDoNotUseUpAttempts() throws {
        for (disposition, reason) in [(AttemptFailure.Disposition.disk, WaitReason.disk), (.network, .network)] {
            var machine = machine(.running)
            for _ in 0..<5 {
                _ = try machine.handle(failure(.diskFull, disposition, attempts: 1), at: reading())
                #expect(machine.status.reason == reason)
                #expect(machine.status.nextAttemptAt == reading(60).wall)
                _ = try machine.handle(.conditionCleared, at: reading())
                _ = try machine.handle(.claimed, at: reading())
            }
        }
    }

    @Test(arguments: [ErrorCode.integrityLength, .integrityChecksum])
    func wrongBytesAreDropped(_ code: ErrorCode) throws {
        var machine = machine(.running)
        #expect(try machine.handle(failure(code), at: reading()).contains(.discardPart))
    }

    // MARK: The name that never resolves

    @Test func anUnresolvableNameFailsAfterFiveMinutes() throws {
        var machine = machine(.running)
        var time = 0.0
        while machine.status.state != .failed, time < 1000 {
            _ = try machine.handle(failure(.networkDNS), at: reading(time))
            guard machine.status.state == .waiting else { break }
            #expect(time < 300)
            _ = try machine.handle(.conditionCleared, at: reading(time))
            _ = try machine.handle(.claimed, at: reading(time))
            time += 50
        }
        #expect(time == 300)
        #expect(machine.status.error?.code == .networkDNS)
        #expect(machine.status.error?.retryable == false)
    }

    /// The limit of five minutes does not depend on changes of the wall clock, or on the values that an older daemon
    /// stored.
    @Test(arguments: [-3600, 3600, 34_560_000] as [Seconds])
    func aNameThatDoesNotResolveIsTimedOnTheBootClock(_ jump: Seconds) throws {
        var machine = machine(.running) { $0.budgetMark = reading().boot }
        _ = try machine.handle(failure(.networkDNS), at: reading(1))
        for seconds in [100.0, 200, 300] {
            _ = try machine.handle(.conditionCleared, at: reading(seconds).set(by: jump))
            _ = try machine.handle(.claimed, at: reading(seconds).set(by: jump))
            _ = try machine.handle(failure(.networkDNS), at: reading(seconds).set(by: jump))
            #expect(machine.status.state == .waiting)
        }
        _ = try machine.handle(.conditionCleared, at: reading(301).set(by: jump))
        _ = try machine.handle(.claimed, at: reading(301).set(by: jump))
        _ = try machine.handle(failure(.networkDNS), at: reading(301).set(by: jump))
        #expect(machine.status.state == .failed)
    }

    @Test func anotherOutcomeForgetsTheUnresolvedName() throws {
        var machine = machine(.running) { ($0.budgetUsed, $0.unresolvedSince) = (1299, 1000) }
        _ = try machine.handle(failure(.networkConnect), at: reading())
        #expect(machine.status.unresolvedSince == nil)
    }

    @Test func aPartDoneTaskIsNotTakenForATypingError() throws {
        var machine = machine(.running) { ($0.budgetUsed, $0.unresolvedSince) = (1999, 1000) }
        var error = TransferError(.networkDNS, "No name.")
        error.details["bytesHeld"] = 12
        let event = TaskEvent.attemptFailed(
            AttemptFailure(error: error, disposition: .transient(after: nil)), RetryPolicy(), jitter: 0)
        _ = try machine.handle(event, at: reading())
        #expect(machine.status.state == .waiting)
        #expect(machine.status.unresolvedSince == nil)
    }

    @Test func withoutANetworkANameIsNotUnresolvable() throws {
        var machine = machine(.running) { ($0.budgetUsed, $0.unresolvedSince) = (1999, 1000) }
        _ = try machine.handle(failure(.networkDNS, .network), at: reading())
        #expect(machine.status.state == .waiting)
        #expect(machine.status.reason == .network)
    }

    @Test func aTaskThatGivesItsSlotUpSaysWhy() throws {
        var machine = machine(.running)
        let cause = Displacement.priority(of: TaskID(7), .session)
        #expect(
            try machine.handle(.preempted(cause), at: reading()) == [
                .persist,
                .publish(.taskQueued, ["reason": "session", "explanation": .string(cause.explanation)]),
            ])
        #expect(cause.explanation.contains("Task 7"))
    }

    // MARK: Integrity

    @Test func aBodyThatIsWrongTwiceIsFinal() throws {
        var machine = machine(.running)
        let error = TransferError(.httpProtocol, "Not gzip.", retryable: true, details: ["coding": "gzip"])
        var wrong = AttemptFailure(error: error, disposition: .transient(after: nil))
        wrong.isOfBody = true
        let event = TaskEvent.attemptFailed(wrong, RetryPolicy(RetryPolicySpec()), jitter: 0.5)
        _ = try machine.handle(event, at: reading())
        #expect(machine.status.state == .waiting && machine.status.reason == .retry)
        _ = try machine.handle(.conditionCleared, at: reading(1))
        _ = try machine.handle(.claimed, at: reading(1))
        _ = try machine.handle(event, at: reading(1))
        #expect(machine.status.state == .failed)
        #expect(machine.status.error?.code == .httpProtocol && machine.status.error?.retryable == false)
    }

    @Test func aWrongDigestRestartsOnceThenFails() throws {
        var machine = machine(.running)
        let error = TransferError(.integrityChecksum, "Wrong.")
        #expect(
            try machine.handle(.integrityFailed(error), at: reading()) == [
                .persist, .discardPart, .publish(.taskRestarted, ["code": "integrity.checksum"]),
                .publish(.taskQueued, [:]),
            ])
        _ = try machine.handle(.claimed, at: reading())
        let effects = try machine.handle(.integrityFailed(error), at: reading())
        #expect(machine.status.state == .failed)
        #expect(effects == [.persist, .discardPart, .publish(.taskFailed, ["error": error.jsonValue])])
    }

    @Test(arguments: 1...10)
    func withMirrorsEachPlaceGivesTheWholeFileOnce(_ places: Int) throws {
        var machine = machine(.running)
        var restarts = 0
        while machine.status.state != .failed {
            _ = try machine.handle(
                .integrityFailed(TransferError(.integrityChecksum, "Wrong."), places: places), at: reading())
            guard machine.status.state == .queued else { break }
            restarts += 1
            _ = try machine.handle(.claimed, at: reading())
        }
        #expect(restarts == min(places, TaskMachine.integrityRestartLimit))
    }

    // MARK: Clients

    @Test func cancelDiscardsUnlessToldOtherwise() throws {
        var running = machine(.running)
        #expect(
            try running.handle(.cancel(keepPartial: false), at: reading())
                == [.persist, .discardPart, .publish(.taskCancelled, [:])])
        var paused = machine(.paused)
        #expect(
            try paused.handle(.cancel(keepPartial: true), at: reading()) == [.persist, .publish(.taskCancelled, [:])])
    }

    /// The earlier failures belong to another server or another request.
    @Test(arguments: [TaskState.queued, .running, .waiting, .paused])
    func whatIsAskedOtherwiseHasNotFailedYet(_ state: TaskState) throws {
        var machine = machine(state) {
            $0.failuresInRow = 5
            $0.integrityRestarts = 1
            $0.unresolvedSince = 500
            $0.shortBody = ShortBody(received: 1, announced: 2, times: 1)
        }
        _ = try machine.handle(.retargeted, at: reading())
        let status = machine.status
        #expect(status.shortBody == nil)
        #expect(status.failuresInRow == 0 && status.integrityRestarts == 0 && status.unresolvedSince == nil)
        #expect(status.state == (state == .paused ? .paused : .queued))
    }

    @Test func retryOfAFinalTaskStartsAfresh() throws {
        var machine = machine(.failed) {
            $0.failuresInRow = 5
            $0.integrityRestarts = 1
            $0.budgetUsed = 1000
            $0.attempts = 5
            $0.unresolvedSince = 500
        }
        _ = try machine.handle(.retry, at: reading())
        let status = machine.status
        #expect(status.state == .queued)
        #expect(status.error == nil && status.finishedAt == nil && status.unresolvedSince == nil)
        #expect(status.failuresInRow == 0 && status.integrityRestarts == 0)
        #expect(status.budgetUsed == 0 && status.budgetMark == reading().boot)
        #expect(status.attempts == 5, "attempts are counted for ever")
    }

    @Test func retryOfAWaitingTaskMeansNow() throws {
        var machine = machine(.waiting) { $0.failuresInRow = 3 }
        #expect(try machine.handle(.retry, at: reading()) == [.persist, .publish(.taskQueued, [:])])
        #expect(machine.status.nextAttemptAt == nil)
        #expect(machine.status.failuresInRow == 3)
    }
}
