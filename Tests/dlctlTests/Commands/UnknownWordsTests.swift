import Testing

@testable import dlctl

@Suite struct UnknownWordsTests {
    private func message(_ arguments: String...) -> String? { Mistake.command(arguments, of: Dlctl.self) }

    @Test func isNamedWithTheNearestOne() {
        #expect(message("lsit")?.hasPrefix("There is no command 'lsit'. Did you mean 'list'?\n") == true)
        #expect(message("session", "opne", "x")?.contains("'opne'. Did you mean 'open'?") == true)
        #expect(message("session", "opne")?.contains("'dlctl session --help'") == true)
        #expect(message("help", "lsit")?.contains("'lsit'. Did you mean 'list'?") == true)
        #expect(message("frobnicate")?.hasPrefix("There is no command 'frobnicate'.\n") == true)
    }

    @Test func argumentsOfCommandsAreNone() {
        let lines = [
            ["list", "lsit"], ["ls"], ["help", "add"], ["help"], ["--what"], [], ["session", "open", "opne"],
        ]
        for known in lines {
            #expect(Mistake.command(known, of: Dlctl.self) == nil, "\(known)")
        }
    }

    private func option(_ arguments: String...) -> String? {
        Mistake.option(arguments, toolInfo: Dlctl._dumpHelp())
    }

    @Test func anOptionIsNamedWithTheNearestOne() {
        #expect(
            option("update", "--postion", "last", "1")?.hasPrefix(
                "There is no option '--postion'. Did you mean '--position'?\n") == true)
        #expect(option("add", "--bogus")?.hasPrefix("There is no option '--bogus'.\n") == true)
        #expect(option("session", "open", "x", "--jsn=1")?.contains("'--jsn'. Did you mean '--json'?") == true)
        #expect(option("list", "-w")?.hasPrefix("There is no option '-w'.\n  See 'dlctl list --help'") == true)
        #expect(option("add", "--conn", "3", "u")?.contains("Did you mean '--connections'?") == true)
    }

    @Test func optionsOfCommandsAndTheirValuesAreNone() {
        #expect(option("add", "--description", "--bogus", "u") == nil)
        #expect(option("add", "--limit=1", "--wait", "u", "--", "--bogus") == nil)
        #expect(option("ls", "--all", "--help") == nil)
        #expect(option("add", "-w", "-ofile", "-d", "-x", "u") == nil && option("show", "-1") == nil)
    }

    @Test func countsSingleChanges() {
        #expect(Mistake.distance("list", "list") == 0 && Mistake.distance("list", "lsit") == 1)
        #expect(Mistake.distance("", "abc") == 3 && Mistake.distance("watch", "wait") == 3)
    }

    @Test(arguments: [
        ("show -1", "'-1' is below zero"), ("list --limit -5", "'-5' is below zero"),
        ("show 99999999999999999999", "is larger than any id"), ("add --priority 2 u", "a number from 0 to 1"),
        ("list --owner nobody-here", "--owner: there is no user 'nobody-here'"),
        ("add --checksum sha-256:abc u", "a value of sha-256 has 64 hex digits, this one has 3."),
        ("add --checksum=sha256:\u{2026} u", "this one has 1."),
        ("add --checksum crc:1 u", "'crc' is not an algorithm"),
        ("add --checksum abc u", "'abc' has no algorithm"), ("cancel all", "for all tasks use --all"),
        ("list 7-3", "write 3-7"),
        ("list --state connecting", "use --state running."),
    ])
    func wrongValuesAreExplained(_ line: String, _ expected: String) {
        let reason = Mistake.value(line.split(separator: " ").map(String.init))
        #expect(reason?.contains(expected) == true, "\(reason ?? "nil")")
    }

    @Test func rightValuesAreNot() {
        #expect(
            Mistake.value(["add", "--priority", "0.5", "--checksum", "md5:" + String(repeating: "a", count: 32)])
                == nil)
        for line in [["show", "all"], ["list", "3-7"], ["add", "all"]] { #expect(Mistake.value(line) == nil) }
        #expect(Mistake.command(["status"], of: Dlctl.self)?.contains("'dlctl info'") == true)
    }

    /// A NUL takes six bytes in JSON.
    @Test func bodiesAreSentTheShorterWay() throws {
        #expect(try FetchCommand.inline(Array("text".utf8)).text == "text")
        #expect(try FetchCommand.inline([UInt8](repeating: 0, count: 3_000_000)).base64?.count == 4_000_000)
        #expect(throws: CommandFailure.self) { try FetchCommand.inline([UInt8](repeating: 0, count: 6_000_000)) }
    }
}
