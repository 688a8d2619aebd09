import Foundation
import Testing

@testable import TransferModel

struct Base64Tests {
    @Test func encodesEveryLengthAndEveryByte() {
        for count in Array(0...300) + [4095, 4096, 4097] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: ($0 &+ count) &* 2_654_435_761 >> 7) }
            let text = bytes.base64
            #expect(text == Data(bytes).base64EncodedString())
            #expect(text.utf8.count == Base64.length(of: count))
            #expect(Base64.decode(text) == bytes)
        }
        let every = Array(UInt8.min...UInt8.max)
        #expect(every.base64 == Data(every).base64EncodedString())
    }
}
