import TransferModel

@testable import TransferCore

/// Returns the reading of both clocks, in seconds after a fixed instant.
func reading(_ seconds: Double = 0) -> ClockReading {
    ClockReading(
        wall: Timestamp(milliseconds: 1_800_000_000_000 + Int64(seconds * 1000)), boot: 50_000 + Int64(seconds * 1000))
}

func head(
    _ status: Int, _ fields: KeyValuePairs<String, String> = [:], url: String = "https://example.org/file.bin",
    redirects: Int = 0
) -> ResponseHead {
    ResponseHead(
        url: url, status: status, headers: fields.map { HeaderField($0.key, $0.value) }, redirects: redirects)
}

func checkpoint(
    _ offset: Int64, of total: Int64? = nil, etag: String? = nil, lastModified: String? = nil, date: String? = nil,
    coding: String? = nil, digests: [String: String] = [:]
) -> Checkpoint {
    Checkpoint(
        offset: ByteCount(offset), total: total.map { ByteCount($0) },
        validators: Validators(etag: etag, lastModified: lastModified, date: date), contentCoding: coding,
        partPath: "/tmp/part", device: 1, inode: 2, serverDigests: digests)
}

func request(
    _ url: String = "https://example.org/file.bin", checkpoint: Checkpoint? = nil, trustedDigest: Bool = false,
    change: (inout TaskSpec) -> Void = { _ in }
) -> StrategyRequest {
    var spec = TaskSpec()
    spec.url = url
    change(&spec)
    return StrategyRequest(
        spec: spec, checkpoint: checkpoint, trustedDigest: trustedDigest, now: reading().wall)
}

extension Exchange {
    func header(_ name: String) -> String? {
        allHeaders.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// Repeatable numbers for property tests (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Returns why a task with this description is refused, or nil if it is not. The task is at `tasks[3]`.
func refusal(of spec: TaskSpec, _ change: (inout TaskSpec) -> Void) -> TransferError? {
    var spec = spec
    change(&spec)
    do throws(TransferError) {
        try SpecRules(path: "tasks[3]").check(spec)
        return nil
    } catch {
        return error
    }
}
