import DaemonKit
import FileKit
import FoundationEssentials
import TransferModel

/// Resume data, which anyone may have written: accepted data makes sense and is encoded as it was read. Input: the JSON
/// inside the base64, or any text.
struct ResumeDataProbe: Probe {
    var decode: @Sendable (String) throws -> ResumeData

    static let target = FuzzTarget(
        "resume-data",
        words: [
            "\"version\":1", "\"url\":", "\"destination\":{\"path\":\"/d/f\"}", "\"checkpoint\":{", "\"offset\":",
            "\"total\":",
            "\"ranges\":[{\"start\":", "\"end\":", "\"partPath\":\"/d/.f.s-1.dldpart\"", "\"device\":1", "\"inode\":2",
            "\"serverDigests\":{}", "\"validators\":{}", "\"origin\":\"\"", "-1", "9223372036854775807", "1e3", "null",
        ],
        ResumeDataProbe { (text) throws(TransferError) in try ResumeData(decoding: text) },
        // Ranges may overlap the bytes before them.
        planted: ResumeDataProbe { (text) throws(TransferError) in
            var data = try ResumeData(decoding: text)
            if data.checkpoint?.ranges.isEmpty == false { data.checkpoint?.ranges[0].start = .zero }
            return data
        })

    func check(_ input: [UInt8]) throws {
        for text in [Data(input).base64EncodedString(), String(decoding: input, as: UTF8.self)] {
            let data: ResumeData
            do {
                data = try decode(text)
            } catch let error as TransferError {
                try hold(error.code == .badField && error.details["field"] == "resumeData", "refused as \(error)")
                continue
            }
            try check(data)
            let again = try decode(data.encoded())
            try hold(again == data, "it comes back as \(again)")
        }
    }

    private func check(_ data: ResumeData) throws {
        guard let checkpoint = data.checkpoint else { return }
        var end = checkpoint.offset
        try hold(end >= .zero, "a negative offset")
        for range in checkpoint.ranges {
            try hold(range.start > end && range.end > range.start, "ranges touch or are empty")
            end = range.end
        }
        if let total = checkpoint.total { try hold(end <= total && checkpoint.held <= total, "more than the whole") }
        try hold(checkpoint.reach == end && checkpoint.held >= checkpoint.offset, "a reach of \(checkpoint.reach)")
    }
}
