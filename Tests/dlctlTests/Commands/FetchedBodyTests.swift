import Testing

@testable import dlctl

struct FetchedBodyTests {
    @Test(
        arguments: [
            ([0x61, 0x0A], nil, false), ([0x61, 0x00], "text/plain", true), ([], nil, false),
            // UTF-8, also where the last character is cut.
            ([0xC3, 0xBC], nil, false), ([0x61, 0xE2, 0x82], "application/json", false),
            // Latin 1: text only where the server says so.
            ([0xFC, 0x62], "text/html", false), ([0xFC, 0x62], "image/png", true), ([0xFC, 0x62], nil, true),
        ] as [([UInt8], String?, Bool)])
    func textGoesToATerminal(bytes: [UInt8], type: String?, isBinary: Bool) {
        #expect(FetchedBody.isBinary(bytes, type: type) == isBinary)
    }
}
