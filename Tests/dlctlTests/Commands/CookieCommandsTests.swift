import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct CookieCommandsTests {
    private static func line(_ domain: String, _ name: String) -> String {
        ".\(domain)\tTRUE\t/\tFALSE\t0\t\(name)\tv\n"
    }

    /// What the daemon refuses is named, and costs the others nothing.
    @Test func oneRefusedCookieCostsNoOther() async throws {
        let bench = try await Bench()
        let text =
            Self.line("a.org", "k") + Self.line("co.uk", "one") + Self.line("b.org", "l") + Self.line("co.uk", "two")
        let outcome = try await bench.run("cookies", "import", "-", input: text)
        #expect(outcome.status == 0)
        #expect(bench.daemon.cookies.map(\.name) == ["k", "l"])
        let refused = ["one", "two"].map { "dlctl: co.uk \($0): set hostOnly.\u{FFFD}\n" }
        #expect(outcome.error == refused.joined() + "2 cookies stored\n")
        await bench.daemon.stop()
    }

    @Test func programsReadHowManyWereRefused() async throws {
        let bench = try await Bench()
        let text = Self.line("a.org", "k") + Self.line("co.uk", "one") + "no cookie\n"
        let outcome = try await bench.run("cookies", "import", "--json", "-", input: text)
        let value = JSONText.value(outcome.output)
        #expect(value?["set"]?.integerValue == 1 && value?["refused"]?.integerValue == 2)
        await bench.daemon.stop()
    }

    @Test func nothingStoredIsAFailure() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("cookies", "import", "-", input: Self.line("co.uk", "one"))
        #expect(outcome.status == 1 && outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("dlctl: co.uk one: "))
        #expect(bench.daemon.cookies.isEmpty)
        await bench.daemon.stop()
    }
}
