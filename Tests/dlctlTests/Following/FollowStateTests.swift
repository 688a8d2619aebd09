import Testing
import TransferModel

@testable import dlctl

@Suite struct FollowStateTests {
    private func state(_ tasks: FollowedTask...) -> FollowState {
        var state = FollowState()
        for task in tasks { _ = state.take(task) }
        state.began(at: SequenceNumber(10))
        return state
    }

    private func one(_ state: FollowState) throws -> FollowedTask { try #require(state.tasks[TaskID(1)]) }

    @Test func followsALife() throws {
        var state = state(Sample.task(1, "f", .queued))
        #expect(state.apply(Sample.event(11, .taskStarted, 1)).count == 1)
        #expect(try one(state).phase == .connecting)
        _ = state.apply(Sample.event(12, .taskResponse, 1, ["response": ["expectedLength": 1000]]))
        #expect(try one(state).expected == 1000)
        let progress: [String: JSONValue] = [
            "phase": "transferring", "bytesReceived": 400, "bytesExpected": 1000, "rate": 99.6, "eta": 6.1,
        ]
        #expect(state.apply(Sample.event(nil, .taskProgress, 1, progress)).isEmpty)
        #expect(try one(state).received == 400)
        #expect(try one(state).rate == 100)
        #expect(try one(state).remaining == Seconds(rawValue: 6.1))
        let done: [String: JSONValue] = ["file": "/home/u/real name.iso", "bytes": 1000, "duration": 10.5]
        let changes = state.apply(Sample.event(13, .taskCompleted, 1, done))
        #expect(changes == [.state(try one(state))])
        #expect(try one(state).name == "real name.iso")
        #expect(try one(state).rate == 0)
        #expect(state.isOver && !state.hasFailure)
        #expect(try one(state).ending == "1000 B in 10.5s (95 B/s)")
    }

    @Test func theServerNamesWhatNobodyNamed() throws {
        var open = Sample.task(1, "from-url")
        open.isNameOpen = true
        let answer: [String: JSONValue] = [
            "response": ["status": 200, "suggestedFilename": "real.iso", "expectedLength": 7]
        ]
        let failure: [String: JSONValue] = [
            "response": ["status": 404, "suggestedFilename": "error.html", "expectedLength": 9]
        ]
        var state = state(open)
        _ = state.apply(Sample.event(11, .taskResponse, 1, failure))
        #expect(try one(state).name == "from-url")
        #expect(try one(state).expected == nil)
        _ = state.apply(Sample.event(12, .taskResponse, 1, answer))
        #expect(try one(state).name == "real.iso")
        #expect(try one(state).expected == 7)
        var named = self.state(Sample.task(1, "chosen"))
        _ = named.apply(Sample.event(11, .taskResponse, 1, answer))
        #expect(try one(named).name == "chosen")
    }

    @Test func failuresCarryTheirReason() throws {
        var state = state(Sample.task(1))
        let error: JSONValue = ["code": "http.status", "message": "404", "retryable": false]
        _ = state.apply(Sample.event(11, .taskFailed, 1, ["error": error]))
        #expect(try one(state).error == TransferError(.httpStatus, "404"))
        #expect(state.isOver && state.hasFailure)
    }

    @Test func unknownErrorCodesKeepTheirWords() throws {
        var state = state(Sample.task(1))
        _ = state.apply(Sample.event(11, .taskFailed, 1, ["error": ["code": "new.code", "message": "words"]]))
        #expect(try one(state).error?.message == "words")
    }

    @Test func waitingTellsWhen() throws {
        var state = state(Sample.task(1))
        let next = Sample.now.advanced(by: 30)
        let payload: [String: JSONValue] = ["reason": "disk", "nextAttemptAt": .string(next.description)]
        _ = state.apply(Sample.event(11, .taskWaiting, 1, payload))
        #expect(try one(state).reason == .disk)
        #expect(try one(state).nextAttemptAt == next)
        #expect(!state.isOver)
        _ = state.apply(Sample.event(12, .taskQueued, 1, ["reason": "slots", "explanation": "It is so."]))
        #expect(try one(state).reason == nil)
        #expect(try one(state).explanation == "It is so.")
        #expect(try one(state).nextAttemptAt == nil)
    }

    @Test func repeatsChangeNothing() {
        var state = state(Sample.task(1, "f", .queued))
        #expect(state.apply(Sample.event(11, .taskStarted, 1)).count == 1)
        #expect(state.apply(Sample.event(11, .taskStarted, 1)).isEmpty)
        #expect(state.apply(Sample.event(9, .taskFailed, 1)).isEmpty)
        #expect(state.lastSequence == SequenceNumber(11))
    }

    @Test func olderEventsDoNotReviveATaskThatIsOver() throws {
        var done = Sample.task(1, "f", .completed)
        done.finishedAt = Sample.now
        var state = state(done)
        #expect(state.apply(Sample.event(11, .taskStarted, 1, at: Sample.now.advanced(by: -5))).isEmpty)
        #expect(state.apply(Sample.event(12, .taskCompleted, 1, at: Sample.now)).isEmpty)
        #expect(state.isOver)
        #expect(state.apply(Sample.event(13, .taskQueued, 1, at: Sample.now.advanced(by: 5))).count == 1)
        #expect(try one(state).state == .queued)
    }

    @Test func resumedAndRestartedAreTold() throws {
        var state = state(Sample.task(1))
        let resumed = state.apply(Sample.event(11, .taskResumed, 1, ["offset": 500, "expected": 1000]))
        #expect(resumed == [.resumed(try one(state), offset: 500)])
        let repaired = state.apply(
            Sample.event(12, .taskRestarted, 1, ["code": "integrity.checksum", "pieces": [3, 5]]))
        #expect(repaired == [.repaired(try one(state), pieces: [3, 5])])
        #expect(try one(state).received == 500)
        let restarted = state.apply(Sample.event(13, .taskRestarted, 1, ["code": "resume.validator_changed"]))
        #expect(restarted == [.restarted(try one(state), code: "resume.validator_changed")])
        #expect(try one(state).received == 0)
    }

    @Test func removedTasksAreOver() {
        var state = state(Sample.task(1))
        #expect(state.apply(Sample.event(11, .taskRemoved, 1)).count == 1)
        #expect(state.isOver && state.hasFailure)
        var done = self.state(Sample.task(1, "f", .completed))
        #expect(done.apply(Sample.event(11, .taskRemoved, 1)).isEmpty)
        #expect(!done.hasFailure)
        #expect(state.vanished(TaskID(1)).isEmpty)
        #expect(state.vanished(TaskID(99)).isEmpty)
    }

    @Test func othersAreIgnoredUnlessAllAreFollowed() {
        var few = state(Sample.task(1))
        #expect(few.apply(Sample.event(11, .taskStarted, 2)).isEmpty)
        #expect(few.tasks.count == 1)
        var all = FollowState(followsNewTasks: true)
        #expect(all.apply(Sample.event(11, .taskAdded, 2)).isEmpty)
        #expect(all.tasks.isEmpty)
        #expect(all.apply(Sample.event(12, .taskStarted, 2)).count == 1)
        #expect(all.tasks[TaskID(2)]?.name == "task 2")
        all.dropEnded()
        #expect(all.tasks.count == 1)
        _ = all.apply(Sample.event(13, .taskCompleted, 2))
        all.dropEnded()
        #expect(all.tasks.isEmpty && all.order.isEmpty)
    }

    @Test func aLostLinkStopsTheFigures() throws {
        var task = Sample.task(1, received: 5, expected: 10)
        task.rate = 100
        var state = state(task)
        #expect(state.linkLost(nextAttemptAt: Sample.now) == [.linkLost])
        #expect(state.linkLost(nextAttemptAt: Sample.now.advanced(by: 1)).isEmpty)
        #expect(try one(state).rate == 0)
        #expect(state.linkRestored() == [.linkRestored])
        #expect(state.linkRestored().isEmpty)
    }

    /// Every event with any payload leaves a state that can be drawn.
    @Test func strangePayloadsNeverTrap() {
        let values: [JSONValue] = [
            .null, -1, 9_223_372_036_854_775_807, .number(.infinity), .number(-1e300), "x", [], ["code": 5], true,
            .number(.nan),
        ]
        var state = state(Sample.task(1))
        var sequence: Int64 = 20
        for type in EventType.allCases {
            for value in values {
                var payload: [String: JSONValue] = [:]
                for name in [
                    "reason", "error", "file", "bytes", "duration", "rate", "eta", "bytesReceived", "bytesExpected",
                    "phase", "offset", "expected", "code", "url", "nextAttemptAt", "response", "expectedLength",
                ] {
                    payload[name] = value
                }
                sequence += 1
                let changes = state.apply(
                    Sample.event(
                        sequence, type, 1, payload, at: Sample.now.advanced(by: Seconds(rawValue: Double(sequence)))))
                for change in changes { _ = ChangeLine.log(change, now: Sample.now) }
                let lines = LiveView.render(
                    state, size: TerminalSize(columns: 80, rows: 24), now: Sample.now, tick: 0)
                #expect(lines.allSatisfy { $0.width < 80 })
                _ = EventLine.render(Sample.event(sequence, type, 1, payload))
            }
        }
    }
}
