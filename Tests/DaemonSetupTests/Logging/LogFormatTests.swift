import Logging
import Testing
import TransferModel

@testable import DaemonSetup

@Suite struct LogFormatTests {
    private let time = Timestamp(milliseconds: 1_700_000_000_123)

    @Test func readableLinesHaveTimeLevelAndFields() {
        let line = LogFormat.readable.line(
            level: .info, message: "task completed", metadata: ["task": "5", "file": "a b.iso"], at: time)
        #expect(line == "2023-11-14T22:13:20.123Z info task completed file=\"a b.iso\" task=5\n")
    }

    @Test func journalLinesHaveAPriorityAndNoTime() {
        let line = LogFormat.journal.line(level: .warning, message: "disk full", metadata: [:], at: time)
        #expect(line == "<4>disk full\n")
    }

    @Test(arguments: zip(Logger.Level.allCases, [7, 7, 6, 5, 4, 3, 2]))
    func prioritiesAreSyslogs(level: Logger.Level, priority: Int) {
        #expect(LogFormat.priority(of: level) == priority)
    }

    /// A server's reason phrase or file name must neither start a new line nor control the terminal.
    @Test(arguments: [
        ("a\nb", "a\\nb"), ("a\r\nb", "a\\r\\nb"), ("\u{1b}[31m", "\\u{1b}[31m"), ("a\u{85}b", "a\\u{85}b"),
        ("\u{202e}gnp", "\\u{202e}gnp"), ("nul\0", "nul\\u{0}"), ("Übergröße 🎉", "Übergröße 🎉"), ("tab\t", "tab\\t"),
        ("\u{200f}rtl", "\\u{200f}rtl"),
    ])
    func harmfulCharactersAreMadeVisible(text: String, safe: String) {
        let line = LogFormat.journal.line(level: .info, message: text, metadata: [:], at: time)
        #expect(line == "<6>\(safe)\n")
        let field = LogFormat.journal.line(level: .info, message: "m", metadata: ["k": "\(text)"], at: time)
        #expect(field.dropLast().unicodeScalars.allSatisfy { $0.value >= 0x20 })
        #expect(field.contains(safe))
    }

    /// The journal splits lines at 48 KiB, and reads a priority from the start of each piece.
    @Test func aLineIsShorterThanWhatTheJournalCuts() {
        let long = String(repeating: "é<0>", count: 100_000)
        let record = LogFormat.journal.record(
            level: .info, message: long, metadata: ["url": "\(long)", "error": "\(long)", "file": "\(long)"], at: time,
            program: "dld")
        #expect(record.line.utf8.count < 48 << 10)
        #expect(record.entry?.fields.allSatisfy { $0.value.utf8.count < 48 << 10 } == true)
    }

    @Test(arguments: [("", "\"\""), ("a=b", "\"a=b\""), ("say \"hi\"", "\"say \\\"hi\\\"\""), ("plain", "plain")])
    func valuesAreQuotedWhereTheyWouldBeAmbiguous(value: String, written: String) {
        let line = LogFormat.journal.line(level: .info, message: "m", metadata: ["k": "\(value)"], at: time)
        #expect(line == "<6>m k=\(written)\n")
    }
}
