import Testing
import TransferModel

@testable import TransferCore

struct ContentRangeTests {
    @Test func ranges() {
        #expect(ContentRange("bytes 0-9/10") == .range(first: 0, last: 9, total: 10))
        #expect(ContentRange(" BYTES 5-5/* ") == .range(first: 5, last: 5, total: nil))
        #expect(ContentRange("bytes */10") == .unsatisfied(total: 10))
        #expect(
            ContentRange("bytes 0-0/9223372036854775807") == .range(first: 0, last: 0, total: ByteCount(.max)))
    }

    @Test(arguments: [
        "", "bytes", "bytes 0-9", "bytes 9-0/10", "bytes 0-10/10", "bytes */*", "items 0-9/10", "bytes=0-9/10",
        "bytes -1-9/10", "bytes 0-9/10/11", "bytes 0 - 9/10", "bytes +0-9/10", "bytes 0x0-9/10",
        "bytes 0-9/9223372036854775808", "0-9/10",
    ])
    func refuses(_ text: String) {
        #expect(ContentRange(text) == nil)
    }
}
