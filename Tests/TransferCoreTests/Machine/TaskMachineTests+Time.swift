import Testing
import TransferModel

@testable import TransferCore

/// Deadlines and the time limit of a task.
extension TaskMachineTests {
    @Test func deadlineFailsAlsoAPausedTask() throws {
        var machine = machine(.paused)
        _ = try machine.handle(.deadlinePassed, at: reading())
        #expect(machine.status.error?.code == .deadlineExceeded)
    }

    /// The time was too short for a reason, and the error must name that reason.
    @Test(arguments: [TaskEvent.deadlinePassed, .resourceTimeoutPassed])
    func aTaskThatRunsOutOfTimeWhileItWaitsSaysWhatFor(_ event: TaskEvent) throws {
        var machine = machine(.waiting) { $0.error = TransferError(.networkConnect, "Nobody listens.") }
        _ = try machine.handle(event, at: reading())
        #expect(machine.status.error?.code == .deadlineExceeded)
        #expect(machine.status.error?.message.hasSuffix("The last attempt failed: Nobody listens.") == true)
        #expect(machine.status.error?.details == ["cause": "network.connect"])
        var running = self.machine(.running)
        _ = try running.handle(event, at: reading())
        #expect(running.status.error?.details == [:])
    }

    /// No client has answered whether a server is to be trusted.
    @Test func aServerThatNobodyTrustsIsRejectedWhenTimeIsOver() throws {
        func ended(_ event: TaskEvent, _ code: ErrorCode, _ reason: WaitReason = .authentication) throws -> ErrorCode? {
            var machine = machine(.waiting) {
                $0.reason = reason
                $0.error = TransferError(code, "It is not.")
            }
            _ = try machine.handle(event, at: reading())
            return machine.status.error?.code
        }
        #expect(try ended(.resourceTimeoutPassed, .tlsUntrusted) == .tlsUntrusted)
        #expect(try ended(.resourceTimeoutPassed, .authRequired) == .deadlineExceeded)
        #expect(try ended(.resourceTimeoutPassed, .tlsUntrusted, .retry) == .deadlineExceeded)
        #expect(try ended(.deadlinePassed, .tlsUntrusted) == .deadlineExceeded)
    }

    /// As for a new task, the date may be later than the task's time limit.
    @Test func budgetExcludesWhatAResumedTaskWaitsForItsDate() throws {
        var machine = TaskMachine(TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: reading(0)).0)
        _ = try machine.handle(.pause, at: reading(30))
        let effects = try machine.handle(.resume(notBefore: reading(1000).wall), at: reading(500))
        #expect(effects == [.persist, .publish(.taskWaiting, .waiting(machine.status))])
        #expect(machine.status.reason == .schedule && machine.status.nextAttemptAt == reading(1000).wall)
        #expect(machine.status.budgetUsed(at: reading(900)) == 30)
        _ = try machine.handle(.conditionCleared, at: reading(1000))
        #expect(machine.status.budgetUsed(at: reading(1010)) == 40)
        machine = self.machine(.paused)
        _ = try machine.handle(.resume(notBefore: reading().wall), at: reading())
        #expect(machine.status.state == .queued, "its time has come")
    }

    @Test func budgetExcludesPausedTime() throws {
        var machine = TaskMachine(TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: reading(0)).0)
        _ = try machine.handle(.claimed, at: reading(10))
        _ = try machine.handle(.pause, at: reading(30))
        #expect(machine.status.budgetUsed(at: reading(500)) == 30)
        _ = try machine.handle(.resume(notBefore: nil), at: reading(500))
        _ = try machine.handle(.claimed, at: reading(501))
        #expect(machine.status.budgetUsed(at: reading(510)) == 40)
        #expect(machine.status.budgetLeft(of: 100, at: reading(510)) == 60)
        _ = try machine.handle(failure(), at: reading(520))
        #expect(machine.status.budgetUsed(at: reading(560)) == 90, "waiting counts")
        _ = try machine.handle(.resourceTimeoutPassed, at: reading(570))
        #expect(machine.status.budgetUsed == 100)
    }

    @Test func aRestartKeepsTheBudget() throws {
        var machine = TaskMachine(TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: reading(0)).0)
        _ = try machine.handle(.claimed, at: reading(0))
        #expect(
            try machine.handle(.daemonRestarted, at: reading(40)) == [
                .persist, .publish(.taskQueued, ["explanation": .string(Displacement.crash.explanation)]),
            ])
        #expect(machine.status.budgetUsed == 40)
        #expect(machine.status.budgetMark == reading(40).boot)
    }

    @Test func aNewBootClockNeverFailsATaskEarly() throws {
        var machine = TaskMachine(TaskMachine.added(startPaused: false, earliestBeginAt: nil, at: reading(0)).0)
        _ = try machine.handle(.claimed, at: reading(0))
        let rebooted = ClockReading(wall: reading(1000).wall, boot: 3000)
        _ = try machine.handle(.daemonRestarted, at: rebooted)
        #expect(machine.status.budgetUsed == 3)
        #expect(machine.status.budgetMark == 3000)
    }
}
