import Testing
import TransferModel

@testable import dlctl

@Suite struct ListFileTests {
    private func parse(_ text: String) throws -> [ListFile.Entry] {
        try ListFile.parse(Array(text.utf8), file: "list.txt")
    }

    private func problem(_ text: String) -> ListFile.Malformed? {
        do {
            _ = try parse(text)
            return nil
        } catch {
            return error as? ListFile.Malformed
        }
    }

    @Test func oneURLALine() throws {
        let entries = try parse("https://a/1\n\n# a comment\n  # another\nftp://b/2\r\nhttps://c/#fragment")
        #expect(entries.map(\.url) == ["https://a/1", "ftp://b/2", "https://c/#fragment"])
        #expect(entries.map(\.line) == [1, 5, 6])
    }

    @Test func optionsBelongToTheURLAbove() throws {
        let value = String(repeating: "0", count: 64)
        let entries = try parse(
            """
            https://a/1
              out=one file.iso
            \tdir=/data
              checksum=sha-256=\(value)
              header=X-A: 1
              header=X-B: 2
            # between
            https://a/2
             out = spaced
            """)
        #expect(entries.count == 2)
        #expect(entries[0].out == "one file.iso")
        #expect(entries[0].dir == "/data")
        #expect(entries[0].checksum == Checksum(algorithm: .sha256, value: value))
        #expect(entries[0].headers == [HeaderField("X-A", "1"), HeaderField("X-B", "2")])
        #expect(entries[1].out == "spaced")
        #expect(entries[1].dir == nil)
    }

    @Test func dotsInANameAreNoWayOut() throws {
        #expect(try parse("https://a/\n  out=..a/b..c").first?.out == "..a/b..c")
    }

    @Test func mirrorsStandBehindTabs() throws {
        let entries = try parse("https://a/f\thttps://b/f \t ftp://c/f\n  out=x\nhttps://d/\n")
        #expect(entries.map(\.url) == ["https://a/f", "https://d/"])
        #expect(entries.map(\.mirrors) == [["https://b/f", "ftp://c/f"], []])
    }

    @Test func byteOrderMarkAndEmptyFilesAreFine() throws {
        #expect(
            try ListFile.parse([0xEF, 0xBB, 0xBF] + Array("https://a/".utf8), file: "l").map(\.url) == ["https://a/"])
        #expect(try ListFile.parse([], file: "l").isEmpty)
        #expect(try parse("\n\n\r\n# only\n").isEmpty)
    }

    @Test(arguments: [
        ("  out=x\nhttps://a/", 1, "needs a URL above"), ("https://a/\n  out", 2, "is an option"),
        ("https://a/\n  out=", 2, "no value"), ("https://a/\n  split=5", 2, "not known"),
        ("https://a/\n\n  header=oops", 3, "NAME: VALUE"), ("https://a/\n  checksum=md5:1", 2, "ALGORITHM:HEX"),
        ("not a url", 1, "not a URL"), ("/etc/passwd", 1, "not a URL"), ("https://a/\tnope", 1, "not a URL"),
        ("https://a/\tb/", 1, "not a URL"), ("https://a/\u{1B}[31m", 1, "U+1B"), ("https://a/\0b", 1, "U+0"),
        ("https://a/\rhttps://b/", 1, "U+D"), ("https://a/\n  out=a\u{7}b", 2, "U+7"),
        ("https://a/\n  out=../../escape.txt", 2, "leads out of the folder"), ("https://a/\n  out=a/../b", 2, "dir="),
    ])
    func errorsNameFileAndLine(text: String, line: Int, words: String) throws {
        let problem = try #require(self.problem(text))
        #expect(problem.line == line)
        #expect(problem.problem.contains(words), "\(problem.problem)")
        #expect(problem.description.hasPrefix("list.txt:\(line): "))
        #expect(!problem.description.unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test func textThatIsNotUTF8IsRefused() throws {
        #expect(throws: ListFile.Malformed(file: "l", line: 2, problem: "this line is not UTF-8 text")) {
            try ListFile.parse(Array("https://a/\n".utf8) + [0xFF, 0xFE], file: "l")
        }
    }

    /// For any bytes the parser returns entries or throws its own error, and it is fast.
    @Test func randomBytesNeverTrap() {
        var generator = SplitMix(seed: 7)
        for _ in 0..<500 {
            let count = Int(generator.next() % 200)
            let alphabet = Array("https://a/ \t\n\r#=:out dir\u{0}".utf8) + [0x80, 0xC3, 0xFF]
            let bytes = (0..<count).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
            do {
                let entries = try ListFile.parse(bytes, file: "l")
                #expect(entries.allSatisfy { ListFile.looksLikeURL($0.url) })
            } catch {
                #expect(error.line >= 1)
            }
        }
    }

    @Test func aHundredThousandLines() throws {
        let text = (1...100_000).map { "https://example.org/\($0)" }.joined(separator: "\n")
        #expect(try parse(text).count == 100_000)
    }
}
