import Glibc
import Testing

@testable import Threading

@Suite struct DurationsTests {
    private struct Stop: Error {}

    @Test(
        arguments: [
            (0, 0), (1_000_000, 0), (1_000_001, 1), (2_500_000, 1), (5_000_000, 2), (10_000_000_000, 12),
            (10_000_000_001, 13),
        ] as [(Int64, Int)])
    func aBoundBelongsToItsBucket(_ nanoseconds: Int64, _ place: Int) {
        let durations = Durations()
        durations.note(nanoseconds: nanoseconds)
        #expect(durations.current.calls.enumerated().filter { $1 > 0 }.map(\.offset) == [place])
        #expect(durations.current.nanoseconds == nanoseconds)
    }

    @Test func callsThatFailCountTooAndKeepTheirError() {
        let durations = Durations()
        #expect(throws: Stop.self) { try durations.measure { throw Stop() } }
        let result = durations.measure { close(-1) }
        #expect(result == -1 && errno == EBADF)
        let calls = durations.current.calls.reduce(0, +)
        #expect(calls == 2)
    }
}
