import TestSupport
import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite(.serialized, .enabled(if: Program.path != nil, "the dlctl product is built")) struct CookieCommandsTests {
    private static func line(_ domain: String, _ name: String) -> String {
        ".\(domain)\tTRUE\t/\tFALSE\t0\t\(name)\tv\n"
    }

    /// A cookie that the daemon refuses is named, and the others are still set.
    @Test func oneRefusedCookieCostsNoOther() async throws {
        let bench = try await Bench()
        let text =
            Self.line("a.org", "k") + Self.line("co.uk", "one") + Self.line("b.org", "l") + Self.line("co.uk", "two")
        let outcome = try await bench.run("cookies", "import", "-", input: text)
        #expect(outcome.status == 0)
        #expect(bench.daemon.cookies.map(\.name) == ["k", "l"])
        let refused = [("one", 2), ("two", 4)].map {
            "dlctl: skipped: standard input:\($0.1): co.uk \($0.0): set hostOnly.\u{FFFD}\n"
        }
        #expect(outcome.error == refused.joined() + "2 cookies imported: 2 new; 2 skipped: 2 refused\n")
        await bench.daemon.stop()
    }

    /// Every cookie is counted once, and each that was left out has its reason.
    @Test func whatBecameOfTheCookiesIsCounted() async throws {
        let bench = try await Bench()
        _ = try await bench.run("cookies", "import", "-", input: Self.line("a.org", "same") + Self.line("a.org", "k"))
        let text =
            Self.line("a.org", "same") + ".a.org\tTRUE\t/\tFALSE\t0\tk\tother\n" + Self.line("a.org", "l")
            + Self.line("a.org", "m") + Self.line("co.uk", "one") + "no cookie\n.a.org\tTRUE\t/\tFALSE\t1\told\tv\n"
        let outcome = try await bench.run("cookies", "import", "--json", "-", input: text)
        let value = JSONText.value(outcome.output)
        let counts = [
            "set": 4, "new": 2, "replaced": 1, "unchanged": 1, "evicted": 0, "expired": 1, "refused": 2,
        ]
        for (name, count) in counts { #expect(value?[name]?.integerValue == Int64(count), "\(name)") }
        let reasons = value?["reasons"]?.arrayValue?.compactMap(\.stringValue) ?? []
        #expect(reasons.count == 3)
        for (reason, why) in zip(reasons, ["1 field", "expired", "hostOnly"]) {
            #expect(reason.contains(why), "\(reason)")
        }
        let said = try await bench.run("cookies", "import", "-", input: text)
        #expect(
            said.error.hasSuffix("\n4 cookies imported: 4 unchanged; 3 skipped: 1 expired, 2 refused\n"), "\(said)")
        await bench.daemon.stop()
    }

    /// Neither command accepts a web page as a cookie file. Both say so in one line.
    @Test(arguments: [["cookies", "import", "page"], ["add", "--cookies", "page", "https://a.org/x"]])
    func aFileOfAnotherKindIsRefused(command: [String]) async throws {
        let bench = try await Bench()
        try Files.write(bench.folder + "/page", "<html>\n<p>\n</html>\n")
        let program = try Program(command, environment: bench.environment, folder: bench.folder)
        let outcome = await program.finish()
        #expect(outcome.status != 0)
        #expect(
            outcome.error
                == "dlctl: page is not a file of cookies in Netscape format: line 1: it has 1 field; a cookie "
                + "has 7, with tabs between them\n")
        #expect(bench.daemon.specs.isEmpty)
        await bench.daemon.stop()
    }

    /// A cookie that the daemon does not accept is named, and the task is added without it.
    @Test func aTaskIsAddedWithoutARefusedCookie() async throws {
        let bench = try await Bench()
        try Files.write(
            bench.folder + "/c",
            Self.line("a.co.uk", "k") + Self.line("co.uk", "one") + "a.co.uk\tTRUE\t/\tFALSE\t1\told\tv\n")
        let outcome = try await bench.run("add", "--cookies", "c", "https://a.co.uk/x", "https://a.co.uk/y")
        #expect(outcome.status == 0, "\(outcome)")
        #expect(
            outcome.error.split(separator: "\n").map(String.init) == [
                "dlctl: skipped: c:3: old: it has expired",
                "dlctl: skipped: c:2: co.uk one: it is for all of co.uk, where many sites are; no site may set such a cookie",
            ])
        #expect(bench.daemon.specs.map { $0.cookies?.map(\.name) } == [["k"], ["k"]])
        await bench.daemon.stop()
    }

    @Test func exportsAreNetscapeTextOrJSON() async throws {
        let bench = try await Bench()
        _ = try await bench.run("cookies", "import", "-", input: Self.line("a.org", "k"))
        #expect(try await bench.run("cookies", "export").output.contains("a.org\tTRUE\t/"))
        let outcome = try await bench.run("cookies", "--json", "export")
        let cookie = JSONText.value(outcome.output)?["cookies"]?.arrayValue?.first
        #expect(cookie?["name"] == "k" && cookie?["value"] == "v", "\(outcome)")
        await bench.daemon.stop()
    }

    /// A tab would end a field, so the rest of the value would be lost.
    @Test func whatTheFormatCannotHoldIsNotExported() async throws {
        let bench = try await Bench()
        bench.daemon.keep([
            Cookie(name: "k", value: "a\tb", domain: "a.org"), Cookie(name: "l", value: "c", domain: "a.org"),
            Cookie(name: "m", value: "d", domain: "a.org", path: "/\t"),
        ])
        let outcome = try await bench.run("cookies", "export")
        #expect(outcome.status == 0)
        #expect(
            outcome.output == "# Netscape HTTP Cookie File\n\na.org\tFALSE\t/\tFALSE\t0\tl\tc\n", "\(outcome.output)")
        let skipped = ["k", "m"].map {
            "dlctl: skipped: a.org \($0): it has a tab, which this format cannot hold; --json prints it\n"
        }
        #expect(outcome.error == skipped.joined())
        let all = JSONText.value(try await bench.run("cookies", "export", "--json").output)
        #expect(all?["cookies"]?.arrayValue?.first?["value"] == "a\tb")
        await bench.daemon.stop()
    }

    @Test func nothingStoredIsAFailure() async throws {
        let bench = try await Bench()
        let outcome = try await bench.run("cookies", "import", "-", input: Self.line("co.uk", "one"))
        #expect(outcome.status == 1 && outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("dlctl: skipped: standard input:1: co.uk one: "))
        #expect(bench.daemon.cookies.isEmpty)
        await bench.daemon.stop()
    }
}
