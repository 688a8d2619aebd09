import Foundation
import GRDB
import Testing
import TransferModel

@testable import TransferStore

@Suite struct SchemaTests {
    let fixture = Fixture()

    /// FNV-1a of each shipped migration. A change here means that databases in the field differ from new ones: write a
    /// further migration in its place.
    static let shipped: [String: UInt64] = [
        "0001": 18_350_904_048_117_850_936, "0002": 13_487_994_576_302_157_533,
        "0003": 8_251_469_719_918_677_020, "0004": 14_095_388_991_997_290_675,
        "0005": 7_410_760_770_460_741_488, "0006": 13_753_915_741_637_001_020,
        "0007": 3_117_234_501_903_717_384, "0008": 8_954_397_280_442_109_211,
        "0012": 1_098_959_415_624_126_469,
