import CurlEngine
import TransferCore
import TransferModel
import TransferStore

/// Tells servers that an upload which was begun is not wanted any more.
extension Supervisor {
    /// Returns at once. The request is made once: a server forgets unfinished uploads by itself some day.
    func endUpload(of record: TaskRecord) {
        guard let begun = record.upload, begun.resourceURL != nil, !isStopping else { return }
        Task { await endUpload(of: record, begun) }
    }

    private func endUpload(of record: TaskRecord, _ begun: UploadProgress) async {
        do {
            let session = try await store.read { try $0.session(record.session) }
            let policy = policy(
                of: record, in: session ?? SessionRecord(key: record.session, createdAt: time.reading().wall))
            let pinned = try await files.pinned(
                policy.network, record.spec.url ?? "", owner: record.session.owner)
            defer { withExtendedLifetime(pinned) {} }
            guard
                let exchange = StrategyRegistry.cancellation(for: StrategyRequest(record, policy, pinned.network, time))
            else { return }
            let context = TransferContext(
                task: record.id, session: record.session, counters: TransferCounters(), observer: SilentObserver())
            let outcome = await engine.perform(exchange, into: nil, context: context)
            logger.info(
                "ended the upload at its server",
                metadata: ["task": "\(record.id)", "status": "\(outcome.head?.status.map(String.init) ?? "none")"])
            // A task that was retried meanwhile may have an upload of its own by now.
            try await store.write { transaction in
                guard let now = try transaction.task(record.id), now.status.state.isFinal,
                    now.upload?.resourceURL == begun.resourceURL
                else { return }
                try transaction.setUpload(record.id, nil)
            }
        } catch {
            logger.info("cannot end an upload at its server", metadata: ["task": "\(record.id)", "error": "\(error)"])
        }
    }
}

/// For exchanges that no task waits for.
private struct SilentObserver: TransferObserver {
    func transferRedirected(to url: String, status: Int) {}
    func transferResponded(_ head: ResponseHead, verdict: Verdict) {}
    func transferCheckpointed(_ checkpoint: Checkpoint) {}
}
