import Testing

@testable import TransferCore

@Suite struct HexTests {
    @Test func everyByteComesBack() {
        let bytes = Array(UInt8.min...UInt8.max)
        let text = Hex.encode(bytes)
        #expect(Hex.decode(text) == bytes)
        #expect(Hex.decode(text.uppercased()) == bytes)
        #expect(Hex.decode("") == [])
    }

    @Test(arguments: ["0", "0g", "g0", "0x", " 0", "00 ", "000"])
    func anythingElseIsNone(text: String) { #expect(Hex.decode(text) == nil) }
}
