import TransferModel

@testable import dld_fleet

/// What is broken on purpose, to prove that the simulation finds it.
enum Plant: CaseIterable {
    case noEpochGuard, earlyAcknowledgement, uncountedHosts, neverPaused
}

/// The functions of the schema that a node calls (contract, section 1), without SQL.
final class ModelDatabase {
    struct Row {
        let id: Int64
        let host: String
        var maxAttempts: Int
        var state = "queued"
        var attempts = 0
        var runAt = Duration.zero
        var node: String?
        var until = Duration.zero
        var epoch: Int64 = 0
        var cancelRequested = false
        var resume: JSONValue?
        /// Node and epoch of the result.
        var result: (String, Int64)?
        var last: (epoch: Int64, node: String, outcome: String)?
        /// How often it entered a final state, since the last `retry`.
        var ends = 0

        var isFinal: Bool { ["done", "failed", "cancelled"].contains(state) }
    }

    var rows: [Int64: Row] = [:]
    var limits: [String: Int] = [:]
    var draining: Set<String> = []
    let plant: Plant?

    init(plant: Plant?) { self.plant = plant }

    func claim(_ node: String, _ count: Int, _ lease: Duration, at now: Duration) -> [LeasedJob] {
        guard !draining.contains(node) else { return [] }
        var jobs: [LeasedJob] = []
        for id in rows.keys.sorted() {
            guard jobs.count < count, var row = rows[id] else { break }
            let isExpired = row.state == "leased" && row.until <= now
            guard isExpired || row.state == "queued" && row.runAt <= now else { continue }
            if isExpired, row.cancelRequested || row.attempts >= row.maxAttempts {
                end(&row, row.cancelRequested ? "cancelled" : "failed", outcome: "expired")
                rows[id] = row
                continue
            }
            if let limit = limits[row.host], plant != .uncountedHosts, !isExpired {
                guard rows.values.count(where: { $0.host == row.host && $0.state == "leased" }) < limit else {
                    continue
                }
            }
            (row.state, row.node, row.until) = ("leased", node, now + lease)
            row.epoch += 1
            row.attempts += 1
            rows[id] = row
            jobs.append(job(row))
        }
        return jobs
    }

    func leases(_ node: String) -> [LeasedJob] {
        rows.values.filter { $0.state == "leased" && $0.node == node }.sorted { $0.id < $1.id }.map(job)
    }

    func renew(_ node: String, _ keys: [JobKey], _ lease: Duration, at now: Duration) -> [JobKey: Input.Verdict] {
        var verdicts: [JobKey: Input.Verdict] = [:]
        for key in keys {
            if holds(node, key, isGuarded: true), let row = rows[key.id] {
                rows[key.id]?.until = now + lease
                verdicts[key] = row.cancelRequested ? .cancel : .ok
            } else {
                verdicts[key] = .lost
            }
        }
        return verdicts
    }

    func finish(_ node: String, _ key: JobKey, _ outcome: Outcome, _ delay: Duration, at now: Duration) -> String? {
        guard var row = rows[key.id] else { return nil }
        guard holds(node, key, isGuarded: plant != .noEpochGuard) else {
            guard row.state != "leased", let last = row.last, last == (key.epoch, node, outcome.rawValue) else {
                return nil
            }
            return row.state
        }
        switch outcome {
        case .done:
            row.result = (node, key.epoch)
            end(&row, "done", outcome: outcome.rawValue, node, key.epoch)
        case .failed, .cancelled: end(&row, outcome.rawValue, outcome: outcome.rawValue, node, key.epoch)
        case .transient:
            if row.cancelRequested {
                end(&row, "cancelled", outcome: outcome.rawValue)
            } else if row.attempts >= row.maxAttempts {
                end(&row, "failed", outcome: outcome.rawValue)
            } else {
                row.last = (key.epoch, node, outcome.rawValue)
                (row.state, row.node, row.runAt) = ("queued", nil, now + delay)
            }
        }
        rows[key.id] = row
        return row.state
    }

    func release(_ node: String, _ key: JobKey, _ resume: JSONValue?) -> String? {
        guard holds(node, key, isGuarded: true), var row = rows[key.id] else { return nil }
        if row.cancelRequested {
            end(&row, "cancelled", outcome: "released")
        } else {
            row.last = (key.epoch, node, "released")
            (row.state, row.node, row.resume) = ("queued", nil, resume)
            row.attempts -= 1
        }
        rows[key.id] = row
        return row.state
    }

    func cancel(_ id: Int64) {
        guard var row = rows[id], !row.isFinal else { return }
        if row.state == "leased" { row.cancelRequested = true } else { end(&row, "cancelled", outcome: "cancelled") }
        rows[id] = row
    }

    func retry(_ id: Int64) {
        guard var row = rows[id], row.state == "failed" || row.state == "cancelled" else { return }
        (row.state, row.attempts, row.cancelRequested, row.ends) = ("queued", 0, false, 0)
        rows[id] = row
    }

    /// Whether an end of this lease could still be committed.
    func holds(_ node: String, _ key: JobKey, isGuarded: Bool) -> Bool {
        guard let row = rows[key.id] else { return false }
        return isGuarded ? row.state == "leased" && row.node == node && row.epoch == key.epoch : row.state != "queued"
    }

    private func end(
        _ row: inout Row, _ state: String, outcome: String, _ node: String? = nil, _ epoch: Int64? = nil
    ) {
        row.last = (epoch ?? row.epoch, node ?? row.node ?? "", outcome)
        (row.state, row.node) = (state, nil)
        row.ends += 1
    }

    private func job(_ row: Row) -> LeasedJob {
        LeasedJob(
            key: JobKey(row.id, row.epoch), pool: "default", spec: [:], host: row.host, attempt: row.attempts,
            resume: row.resume, limited: limits[row.host] != nil)
    }
}
