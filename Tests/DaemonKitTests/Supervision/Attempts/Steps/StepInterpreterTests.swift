import Testing
import Threading
import TransferCore
import TransferModel

@testable import DaemonKit

/// What each step means.
@Suite struct StepInterpreterTests {
    private struct NoJudge: ResponseJudge {
        func judge(_ head: ResponseHead) -> Verdict { .accept(Acceptance(offset: 0)) }
    }

    /// Yields one step after another, and records what it is asked for.
    private final class Script: ExchangeCourse {
        typealias Yield = String

        private struct State {
            var steps: [NextStep<String>]
            var calls: [String] = []
            var isCancelled = false
            var pending: (@Sendable (NextStep<String>) -> Void)?
        }

        private let state: Guarded<State>
        private let mustPrepare: Bool
        private let holds: Bool
        private let failsAt: String?

        init(_ steps: [NextStep<String>], mustPrepare: Bool = false, holds: Bool = false, failsAt: String? = nil) {
            state = Guarded(State(steps: steps))
            self.mustPrepare = mustPrepare
            self.holds = holds
            self.failsAt = failsAt
        }

        var calls: [String] { state.withLock { $0.calls } }

        private func call(_ name: String) throws {
            state.withLock { $0.calls.append(name) }
            if failsAt == name { throw TransferError(.diskIO, name) }
        }

        private func next() -> NextStep<String> { state.withLock { $0.steps.removeFirst() } }

        func begin(then: @escaping @Sendable (NextStep<String>) -> Void) { then(next()) }

        func perform(_ exchange: Exchange, then: @escaping @Sendable (NextStep<String>) -> Void) {
            let isHeld = state.withLock { state in
                state.calls.append("perform \(exchange.url)")
                guard holds, !state.isCancelled else { return false }
                state.pending = then
                return true
            }
            if !isHeld { then(state.withLock { $0.isCancelled } ? .success(nil) : next()) }
        }

        func mustPrepare(_ exchange: Exchange) -> Bool { mustPrepare }
        func prepare(_ exchange: Exchange) async throws -> Exchange {
            try call("prepare")
            return exchange
        }
        func willPerform(_ exchange: Exchange) async throws { try call("announce") }
        func store(_ progress: UploadProgress) async throws { try call("store") }
        func restart(because cause: TransferError) async throws { try call("restart") }
        func stopped() async throws { try call("stopped") }
        func error(of failure: AttemptFailure) -> any Error { failure.error }

        func cancel() {
            state.withLock { state in
                state.isCancelled = true
                defer { state.pending = nil }
                return state.pending
            }?(.success(nil))
        }
    }

    private func exchange(_ url: String) -> Exchange { Exchange(url: url, judge: NoJudge()) }
    private let progress = UploadProgress(
        uploadProtocol: .post, source: nil, createdAt: Timestamp(milliseconds: 0))
    private let failure = AttemptFailure(error: TransferError(.networkLost, "x"), disposition: .permanent)

    @Test func stepsThatNeedNothingAreTakenAtOnce() throws {
        let script = Script([.success(.run(exchange("a"))), .success(.run(exchange("b"))), .success(.finished("done"))])
        let interpreter = StepInterpreter(script)
        interpreter.begin()
        #expect(script.calls == ["perform a", "perform b"])
        #expect(try interpreter.conclusion?.get() == "done")
    }

    @Test func whatMustBeDurableIsStoredBeforeTheExchange() async throws {
        // A mark of a request in progress must not stay if the body cannot be prepared.
        var marked = progress
        marked.awaitsAnswer = true
        for (progress, first) in [(progress, ["store", "prepare"]), (marked, ["prepare", "store"])] {
            let script = Script([.success(.store(progress, then: exchange("a"))), .success(.finished("done"))])
            let interpreter = StepInterpreter(script)
            interpreter.begin()
            #expect(try await interpreter.value() == "done")
            #expect(script.calls == first + ["announce", "perform a"])
        }
    }

    @Test func aRestartDropsWhatIsHeldFirst() async throws {
        let restart = Step<String>.restart(TransferError(.validatorChanged, "x"), then: exchange("a"))
        let script = Script([.success(restart), .success(.finished("done"))])
        let interpreter = StepInterpreter(script)
        interpreter.begin()
        #expect(try await interpreter.value() == "done")
        #expect(script.calls == ["restart", "prepare", "announce", "perform a"])
    }

    @Test func anExchangeThatNeedsSomethingWaitsForIt() async throws {
        let script = Script([.success(.run(exchange("a"))), .success(.finished("done"))], mustPrepare: true)
        let interpreter = StepInterpreter(script)
        interpreter.begin()
        #expect(try await interpreter.value() == "done")
        #expect(script.calls == ["prepare", "announce", "perform a"])
    }

    @Test func aFailureEndsIt() async {
        let interpreter = StepInterpreter(Script([.success(.failed(failure))]))
        interpreter.begin()
        await #expect(throws: TransferError(.networkLost, "x")) { try await interpreter.value() }
        let broken = StepInterpreter(Script([.failure(TransferError(.diskFull, "y"))]))
        broken.begin()
        await #expect(throws: TransferError(.diskFull, "y")) { try await broken.value() }
    }

    /// Nothing is sent after something could not be stored that must be durable.
    @Test(arguments: ["prepare", "store", "announce"]) func nothingIsSentThatCouldNotBeStored(_ call: String) async {
        let script = Script([.success(.store(progress, then: exchange("a")))], failsAt: call)
        let interpreter = StepInterpreter(script)
        interpreter.begin()
        await #expect(throws: TransferError(.diskIO, call)) { try await interpreter.value() }
        #expect(!script.calls.contains("perform a"))
    }

    @Test func aStoppedExchangeHasTheLastWordStored() async throws {
        let script = Script([.success(.run(exchange("a")))], holds: true)
        let interpreter = StepInterpreter(script)
        interpreter.begin()
        #expect(interpreter.conclusion == nil)
        interpreter.cancel()
        #expect(try await interpreter.value() == nil)
        #expect(script.calls == ["perform a", "stopped"])
    }

    @Test func itIsStoppedWithTheTaskThatWaits() async throws {
        let script = Script([.success(.run(exchange("a")))], holds: true)
        let interpreter = StepInterpreter(script)
        interpreter.begin()
        let task = Task { try await interpreter.value() }
        task.cancel()
        #expect(try await task.value == nil)
        #expect(script.calls == ["perform a", "stopped"])
    }

    @Test func whoeverComesLateIsToldAtOnce() async {
        let interpreter = StepInterpreter(Script([.success(.finished("done"))]))
        interpreter.begin()
        await confirmation { told in interpreter.whenOver { told() } }
    }
}
