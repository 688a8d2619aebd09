import Testing
import TransferModel

@testable import TransferCore

struct ResumableFieldsTests {
    @Test func bothNamesAreUnderstood() {
        let fields = ResumableFields(version: 8)
        #expect(fields.isComplete(head(200, ["Upload-Complete": "?1;a=b"])) == true)
        #expect(fields.isComplete(head(200, ["upload-complete": " ?0 "])) == false)
        #expect(fields.isComplete(head(200, ["Upload-Incomplete": "?0"])) == true)
        #expect(fields.isComplete(head(200, ["Upload-Complete": "1"])) == nil)
        #expect(fields.isComplete(head(200)) == nil)
    }

    @Test func limitsAreADictionary() throws {
        let limit = try #require(
            UploadLimit(
                head(204, ["Upload-Limit": "max-size=10, min-size=2;x,  max-append-size=5 , max-age=60, other=?1"])))
        #expect(limit.maximumSize == 10)
        #expect(limit.minimumSize == 2)
        #expect(limit.maximumAppend == 5)
        #expect(limit.maximumAge == 60)
        #expect(UploadLimit(head(204)) == nil)
        #expect(UploadLimit(head(204, ["Upload-Limit": "max-append-size=00"]))?.maximumAppend == nil)
        #expect(UploadLimit(head(204, ["Upload-Limit": "max-size=-1, max-age=x, expires=9"]))?.maximumAge == 9)
    }

    @Test func limitsAreChecked() throws {
        let limit = try #require(UploadLimit(head(204, ["Upload-Limit": "max-size=10, min-size=2"])))
        #expect(throws: Never.self) { try limit.check(10) }
        #expect(throws: AttemptFailure.self) { try limit.check(11) }
        #expect(throws: AttemptFailure.self) { try limit.check(1) }
    }

    @Test func aProblemDocumentNamesTheOffset() {
        #expect(ResumableFields.expectedOffset(answer(409, body: #"{"expected-offset": 7}"#)) == 7)
        #expect(
            ResumableFields.expectedOffset(answer(409, ["Upload-Offset": "3"], body: #"{"expected-offset": 7}"#)) == 3)
        #expect(ResumableFields.expectedOffset(answer(409, body: #"{"expected-offset": -7}"#)) == nil)
        // A recursive reader would crash the process with such a text.
        let deep = "{\"a\":" + String(repeating: "[", count: 512)
        #expect(ResumableFields.expectedOffset(answer(409, body: deep)) == nil)
        #expect(ResumableFields.expectedOffset(answer(409)) == nil)
    }
}
