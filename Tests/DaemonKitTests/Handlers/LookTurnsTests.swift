import TestSupport
import Testing
import Threading
import TransferModel

@testable import DaemonKit

@Suite(.timeLimit(.minutes(2)))
struct LookTurnsTests {
    /// Answers that wait until they are released.
    private final class Answers: Sendable {
        private struct State {
            var running: [CheckedContinuation<Void, Never>] = []
            var isOpen = false
        }
        private let state = Guarded(State())
        var count: Int { state.withLock { $0.running.count } }

        func answer() async {
            await withCheckedContinuation { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.running.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }

        func letAllGo() {
            let running = state.withLock { state in
                state.isOpen = true
                return state.running
            }
            running.forEach { $0.resume() }
        }
    }

    private let turns = LookTurns()
    private let one = UserID(1000)
    private let other = UserID(2000)

    @Test func aUsersHundredRequestsKeepNobodyWaiting() async throws {
        let answers = Answers()
        let flood = (0..<100).map { number in
            Task { try await turns.answer(one, on: FakeSink(id: number)) { await answers.answer() } }
        }
        #expect(await eventually { answers.count == Bounds.looks })
        #expect(try await turns.answer(other, on: FakeSink()) { 7 } == 7)
        #expect(answers.count == Bounds.looks)
        answers.letAllGo()
        for task in flood { try await task.value }
    }

    @Test func whoDoesNotReadIsNotAnsweredAndHoldsNoTurn() async throws {
        let sink = FakeSink()
        sink.stick()
        sink.send([UInt8](repeating: 0, count: Bounds.unreadByLookers + 1))
        let stuck = (0..<10).map { _ in Task { try await turns.answer(one, on: sink) { true } } }
        #expect(await eventually { sink.isWaiting })
        #expect(try await turns.answer(one, on: FakeSink(id: 2)) { 7 } == 7)
        sink.close()
        for task in stuck { await #expect(throws: TransferError.self) { try await task.value } }
    }

    @Test func whoIsGoneIsNotAnswered() async throws {
        let sink = FakeSink()
        let answers = Answers()
        let held = (0..<Bounds.looks).map { number in
            Task { try await turns.answer(one, on: FakeSink(id: number)) { await answers.answer() } }
        }
        #expect(await eventually { answers.count == Bounds.looks })
        let late = Task { try await turns.answer(one, on: sink) { true } }
        sink.close()
        answers.letAllGo()
        await #expect(throws: TransferError.self) { try await late.value }
        for task in held { try await task.value }
    }
}
