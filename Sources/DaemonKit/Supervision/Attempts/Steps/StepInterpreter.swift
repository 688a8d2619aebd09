import Threading
import TransferCore
import TransferModel

/// Carries out the steps of a strategy until it ends. Nothing else interprets steps.
///
/// A step is taken at once, on the thread that brings it, unless something must be prepared or stored first. While
/// exchanges run, there is no Swift task.
final class StepInterpreter<Yield: Sendable>: Sendable {
    /// What the strategy yielded; nil if the run was stopped.
    typealias Conclusion = Result<Yield?, any Error>

    private struct State {
        var conclusion: Conclusion?
        var waiter: (@Sendable () -> Void)?
        /// Prepares or stores something between two exchanges.
        var work: Task<Void, Never>?
        var isCancelled = false
    }

    private let course: any ExchangeCourse<Yield>
    private let state = Guarded(State())

    init(_ course: any ExchangeCourse<Yield>) { self.course = course }

    /// Takes the first step. Called once.
    func begin() { course.begin { self.take($0) } }

    /// The result; nil while there is work.
    var conclusion: Conclusion? { state.withLock { $0.conclusion } }

    /// Waits for the end. Everything stops if the calling task is cancelled.
    /// - Throws: why the attempt failed.
    func value() async throws -> Yield? {
        if let conclusion { return try conclusion.get() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in whenOver { continuation.resume() } }
        } onCancel: {
            cancel()
        }
        return try conclusion?.get()
    }

    // MARK: Steps

    private func take(_ next: NextStep<Yield>) {
        switch next {
        case .failure(let error): conclude(.failure(error))
        case .success(nil):
            work {
                try await self.course.stopped()
                self.conclude(.success(nil))
            }
        case .success(.finished(let yield)?): conclude(.success(yield))
        case .success(.failed(let failure)?): conclude(.failure(course.error(of: failure)))
        case .success(.run(let exchange)?) where !course.mustPrepare(exchange): perform(exchange)
        case .success(.run(let exchange)?): work { try await self.perform(exchange, storing: nil) }
        case .success(.store(let progress, then: let exchange)?):
            work { try await self.perform(exchange, storing: progress) }
        case .success(.restart(let cause, then: let exchange)?):
            work {
                try await self.course.restart(because: cause)
                try await self.perform(exchange, storing: nil)
            }
        }
    }

    private func perform(_ exchange: Exchange) { course.perform(exchange) { self.take($0) } }

    /// What a server has made is stored first: preparing may take minutes, and may be stopped. A body that cannot be
    /// prepared must not leave a request marked as in progress, so such a mark is stored last.
    private func perform(_ exchange: Exchange, storing progress: UploadProgress?) async throws {
        if let progress, !progress.awaitsAnswer { try await course.store(progress) }
        let prepared = try await course.prepare(exchange)
        if let progress, progress.awaitsAnswer { try await course.store(progress) }
        try await course.willPerform(prepared)
        perform(prepared)
    }

    /// Does what must be awaited.
    private func work(_ body: @escaping @Sendable () async throws -> Void) {
        state.withLock { state in
            let task = Task {
                do {
                    try await body()
                } catch {
                    conclude(.failure(error))
                }
            }
            state.work = task
            if state.isCancelled { task.cancel() }
        }
    }

    private func conclude(_ conclusion: Conclusion) {
        let waiter = state.withLock { state in
            state.conclusion = conclusion
            state.work = nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?()
    }
}

extension StepInterpreter: Awaited {
    func whenOver(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if state.conclusion == nil { state.waiter = body }
            return state.conclusion != nil
        }
        if isOver { body() }
    }

    func cancel() {
        let work = state.withLock { state in
            state.isCancelled = true
            return state.work
        }
        work?.cancel()
        course.cancel()
    }
}
