import Testing
import TransferModel

@testable import dld_fleet

@Suite struct RowsTests {
    @Test(arguments: [
        ([], "{}"), (["a", nil, "NULL", ""], #"{"a",NULL,"NULL",""}"#), ([#"a"b\c"#], #"{"a\"b\\c"}"#),
        (["{x,y}", " z "], #"{"{x,y}"," z "}"#), (["e\u{301}\"", "\r\n\t"], "{\"e\u{301}\\\"\",\"\r\n\t\"}"),
        (["\"\u{301}"], "{\"\\\"\u{301}\"}"),
    ])
    func arraysAreLiterals(_ elements: [String?], _ literal: String) {
        #expect(SQLParameter(array: elements).text?.unicodeScalars.elementsEqual(literal.unicodeScalars) == true)
    }

    @Test func otherValuesAreTexts() {
        #expect(SQLParameter(array: nil).text == nil)
        #expect(SQLParameter(array: [3, -4] as [Int64]).text == #"{"3","-4"}"#)
        #expect(SQLParameter(array: [["a": "\""], nil] as [JSONValue?]).text == #"{"{\"a\":\"\\\"\"}",NULL}"#)
        #expect(
            SQLParameter(Int64?.none).text == nil && SQLParameter(7).text == "7" && SQLParameter(true).text == "true")
        #expect(SQLParameter(seconds: 0.25).text == "0.25")
        #expect(("x" as SQLParameter).text == "x" && (nil as SQLParameter).text == nil)
    }
}
