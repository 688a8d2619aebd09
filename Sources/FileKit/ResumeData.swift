import FoundationEssentials
import Glibc
import TransferModel

/// The self-contained text that `task.resumeData` returns and `task.add` accepts. It is enough to resume from a part
/// file even after the daemon's store is gone. It contains no bytes of the file and no secrets.
///
/// It is untrusted, because a client may have written it. `claimablePart` and `openPart` check what it names.
package struct ResumeData: Hashable, Sendable {
    static let currentVersion = 1
    /// The most digits of base64, which fit into a line.
    private static let longest = 8 << 20

    package var version: Int
    /// Without user info.
    package var url: String
    /// Without user info too.
    package var mirrors: [String]?
    package var destination: Destination
    package var conflictPolicy: ConflictPolicy?
    package var checksum: Checksum?
    package var size: ByteCount?
    package var pieces: PackedDigests?
    package var preserveTime: Bool?
    package var description: String?
    package var checkpoint: Checkpoint?

    /// - Parameters:
    ///   - url: the task's URL; the caller has removed user info.
    ///   - checkpoint: nil if nothing was received.
    package init(url: String, destination: Destination, checkpoint: Checkpoint?) {
        version = Self.currentVersion
        self.url = url
        self.destination = destination
        self.checkpoint = checkpoint
    }

    /// Base64 of JSON.
    package func encoded() -> String { JSONCoding.canonical(self).base64 }

    /// - Throws: `request.bad_field` for anything that `encoded` cannot produce.
    package init(decoding text: String) throws(TransferError) {
        guard text.utf8.count <= Self.longest, let data = Data(base64Encoded: text) else {
            throw Self.bad("it is not what task.resumeData returned")
        }
        let decoded: ResumeData
        do {
            decoded = try JSONCoding.decode(ResumeData.self, from: Array(data))
        } catch {
            throw Self.bad("it is damaged or of another version")
        }
        guard decoded.version == Self.currentVersion else {
            throw Self.bad("it is of version \(decoded.version), and this dld knows \(Self.currentVersion)")
        }
        if let pieces = decoded.pieces, pieces.unpacked == nil { throw Self.bad("its pieces are impossible") }
        if let checkpoint = decoded.checkpoint {
            guard checkpoint.offset >= .zero, checkpoint.total.map({ $0 >= checkpoint.offset }) ?? true else {
                throw Self.bad("its offset is impossible")
            }
            guard checkpoint.mirror?.isEmpty != true else { throw Self.bad("its origin is impossible") }
            guard Self.areInOrder(checkpoint) else { throw Self.bad("its ranges are impossible") }
        }
        self = decoded
    }

    /// Checks that ranges follow the offset, do not touch each other, and lie within a known length.
    private static func areInOrder(_ checkpoint: Checkpoint) -> Bool {
        guard let total = checkpoint.total else { return checkpoint.ranges.isEmpty }
        var end = checkpoint.offset
        for range in checkpoint.ranges {
            guard range.start > end, !range.isEmpty, range.end <= total else { return false }
            end = range.end
        }
        return true
    }

    package static func bad(_ reason: String) -> TransferError {
        TransferError.bad("resumeData", "\(reason).")
    }
}

extension ResumeData: WireObject {
    package static let shape = Shape("ResumeData", Self(url: "", destination: Destination(), checkpoint: nil)) { row in
        row("version", \.version)
        row("url", \.url)
        row("mirrors", \.mirrors)
        row("destination", \.destination)
        row("conflictPolicy", \.conflictPolicy)
        row("checksum", \.checksum)
        row("size", \.size)
        row("pieces", \.pieces)
        row("preserveTime", \.preserveTime)
        row("description", \.description)
        row("checkpoint", \.checkpoint)
    }
}

extension ResumeData {
    /// Checks the part file. It must be a regular file with the name of a part file, in the destination's folder, owned
    /// by the peer or the daemon, with one link, the recorded device and inode, and at least as long as the held bytes reach.
    /// - Parameter plan: the plan for the destination in this resume data.
    /// - Returns: the checkpoint of a part file that may be continued; nil if there is none and the download starts
    ///   over.
    /// - Throws: `permission.denied` for a part file outside what the peer may name, `request.bad_field` for a file
    ///   that is not a part file, `disk.*` if the disk cannot tell.
    package func claimablePart(
        plan: DestinationPlan, access: FileAccess, owner: UserID
    ) throws(TransferError) -> Checkpoint? {
        guard let checkpoint else { return nil }
        try PathRules.requireAbsolute(checkpoint.partPath)
        guard let slash = checkpoint.partPath.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let name = String(checkpoint.partPath[checkpoint.partPath.utf8.index(after: slash)...])
        let folderPath = String(checkpoint.partPath[..<slash])
        guard PartName.isPartName(name) else { throw Self.bad("it names a file that is not a part file") }
        guard PathRules.normalized(folderPath) == PathRules.normalized(plan.folder) else {
            throw Self.bad("its part file is not next to its destination")
        }
        let folder = try access.openFolder(plan.folder, owner: owner, create: false)
        guard let status = try folder.status(of: name) else { return nil }
        guard isRegular(status), status.st_nlink == 1,
            status.st_uid == owner.rawValue || status.st_uid == geteuid()
        else { throw Self.bad("its part is not a regular file of yours with one name") }
        guard FileIdentity(status) == FileIdentity(checkpoint),
            Int64(status.st_size) >= checkpoint.reach.rawValue
        else { return nil }
        return checkpoint
    }
}
