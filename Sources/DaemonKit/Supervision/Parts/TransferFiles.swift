import CurlEngine
import DaemonSetup
import FileKit
import Glibc
import Threading
import TransferCore
import TransferModel
import TransferStore

/// The file work of supervision: destinations, part files and delivery. Each piece runs on a thread that may block.
final class TransferFiles: Sendable {
    let access: FileAccess
    let storeID: String
    /// Where bodies are spooled while they are sent; nil if they may only be in memory.
    private let stateFolder: String?
    /// nil if no scheme has a helper.
    let helpers: HelperFolders?
    let pool: BlockingPool
    private let time: any TimeSource
    /// For synced deliveries. They wait for the disk together, so that a file system's journal commits them together.
    let syncing: BlockingPool
    /// For jobs that read whole files. They take minutes for large files, and nothing else may wait behind them.
    let hashing: BlockingPool
    private let folders = FolderCache()
    private let unfoldings = UnfoldedSizes()
    private let spaces = KnownSpace()
    /// Folders that were searched for abandoned part files.
    private let searched = Guarded<Set<String>>([])
    let marks: MarkCleaner

    init(
        access: FileAccess, storeID: String, stateFolder: String?, helpers: HelperFolders? = nil, pool: BlockingPool,
        time: any TimeSource = SystemTime()
    ) {
        self.helpers = helpers
        self.time = time
        self.access = access
        self.stateFolder = stateFolder
        self.storeID = storeID
        self.pool = pool
        syncing = pool.width > 0 ? BlockingPool(width: Self.syncsAtOnce) : pool
        hashing = pool.width > 0 ? BlockingPool(width: Self.hashesAtOnce, name: "dld-hashing") : pool
        marks = MarkCleaner(pool: pool)
    }

    private static let syncsAtOnce = 32
    /// Above this number, folders are searched again.
    private static let foldersRemembered = 10_000
    private static let hashesAtOnce = 8

    func deliveryPool(_ policy: EffectivePolicy) -> BlockingPool {
        policy.durability.isSynced ? syncing : pool
    }

    /// Runs `body`, which opens `path`, so that only that path's file system can delay it.
    func opening<T: Sendable, E: Error>(
        _ path: String, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        try await pool.run(at: path, followsLinks: !access.isConfined, body)
    }

    /// The folder for downloads without a folder, in system mode.
    func ownFolder(of owner: UserID) -> String? { access.homeFolder(of: owner) }

    // MARK: When it runs

    /// Opens what a task sends; nil if it sends nothing.
    /// - Throws: `source.changed`, `source.unreadable`, `permission.denied`, `disk.*`.
    func openSending(of record: TaskRecord, store: TransferStore) async throws -> SendingFile? {
        guard let source = record.source else { return nil }
        if source.isKept {
            guard let content = try await store.read({ try $0.body(of: record.id, .request) }) else {
                throw TransferError(.internal, "The body of task \(record.id) is not in the store.")
            }
            return try await pool.run { [stateFolder] in try SendingFile.spooled(content, in: stateFolder) }
        }
        guard let path = record.spec.source?.path ?? record.spec.body?.file else { return nil }
        return try await opening(path) { [access] in
            try SendingFile.open(path, as: source, access, owner: record.session.owner)
        }
    }

    func digestFields(of exchange: Exchange, _ sending: SendingFile?) async throws -> [HeaderField] {
        try await hashing.runCancellable(on: sending?.identity.device ?? BlockingPool.noDevice) {
            isCancelled throws(TransferError) in
            try PayloadHasher.fields(of: exchange, sending, isCancelled: isCancelled)
        }
    }

    /// Opens the destination's folder, which is shared with other attempts that have it open.
    @inline(never)  // Keeps its locals out of suspended frames.
    func open(_ plan: DestinationPlan, for record: TaskRecord) async throws -> Folder {
        let owner = record.session.owner
        if let folder = folders.folder(at: plan.folder, owner: owner) {
            try plan.check(folder, device: record.destinationDevice)
            return folder
        }
        return try await opening(plan.folder) { [self] in
            let folder = folders.keep(
                try plan.open(access, owner: owner, device: record.destinationDevice), owner: owner)
            removeAbandoned(from: folder, owner: owner)
            return folder
        }
    }

    /// Removes what volatile sessions of a killed daemon left in the folder. Nobody waits for this single search.
    private func removeAbandoned(from folder: Folder, owner: UserID) {
        let isNew = searched.withLock { searched in
            if searched.count >= Self.foldersRemembered { searched = [] }
            return searched.insert(folder.path).inserted
        }
        guard isNew else { return }
        pool.post(on: folder.device) { [storeID, time] in
            AbandonedParts.remove(from: folder, owner: owner, store: storeID, now: time.reading().wall.rawValue / 1000)
        }
    }

    /// Returns the destination's folder if another attempt has it open.
    func openFolder(_ plan: DestinationPlan, for record: TaskRecord) -> Folder? {
        guard let folder = folders.folder(at: plan.folder, owner: record.session.owner),
            (try? plan.check(folder, device: record.destinationDevice)) != nil
        else { return nil }
        return folder
    }

    /// Makes the next attempt open the folder by its path again, because something failed in it.
    func forget(_ folder: Folder, for record: TaskRecord) { folders.forget(folder, owner: record.session.owner) }

    /// Opens the part file with what is proven of it, or plans a new one.
    @inline(never)  // Keeps its locals out of suspended frames.
    func openPart(
        of record: TaskRecord, _ plan: DestinationPlan, in folder: Folder, engine: any ExchangePerforming
    ) async throws -> HeldPart {
        if let held = record.checkpoint {
            let name = PartName.make(task: record.id, store: storeID, wanted: plan.name)
            let proven: HeldPart? = try await pool.run(on: folder.device) {
                if let checkpoint = try Self.claimed(held, as: name, in: folder),
                    let (part, proven) = try PartFile.recover(
                        checkpoint, task: record.id, journal: engine.journal, directory: folder.fileDescriptor,
                        mayHaveHoles: Self.mayHaveHoles(record))
                {
                    return HeldPart(part: part, checkpoint: proven.held > .zero ? proven : nil)
                }
                // Another file may get the inode number of a removed one.
                engine.journal?.forget(record.id)
                return nil
            }
            if let proven { return proven }
        }
        await removeUseless(of: record, plan, in: folder)
        return plannedPart(of: record, plan, in: folder)
    }

    /// A part file that will be created when its first bytes must be stored.
    func plannedPart(of record: TaskRecord, _ plan: DestinationPlan, in folder: Folder) -> HeldPart {
        let name = PartName.make(task: record.id, store: storeID, wanted: plan.name)
        let part = PartFile(
            planned: folder.path(of: name), device: folder.device, directory: folder.fileDescriptor, keeper: folder)
        return HeldPart(part: part, checkpoint: nil)
    }

    /// Renames a part file named by resume data and returns its checkpoint; nil if the part file is gone.
    /// - Throws: `disk.*`, `permission.denied`.
    func takenOver(_ checkpoint: Checkpoint, for record: TaskRecord) async throws -> Checkpoint? {
        let plan = try DestinationPlan(record.spec.destination)
        let folder = try await open(plan, for: record)
        let name = PartName.make(task: record.id, store: storeID, wanted: plan.name)
        return try await pool.run(on: folder.device) { () throws(TransferError) in
            try Self.claimed(checkpoint, as: name, in: folder)
        }
    }

    /// Renames a part file named by resume data for this task, so that no two tasks write to it. The rename is durable
    /// before the store records it. If the daemon died in between, the file already has the new name.
    /// - Returns: the checkpoint with the new name; nil if the part file is gone.
    /// - Throws: `disk.*`, `destination.*` if the file is unavailable for now. Starting over would leave it behind.
    private static func claimed(
        _ checkpoint: Checkpoint, as name: String, in folder: Folder
    ) throws(TransferError) -> Checkpoint? {
        var checkpoint = checkpoint
        let held = lastComponent(checkpoint.partPath)
        guard held != name else { return checkpoint }
        guard PartName.isPartName(held) else { return nil }
        let directory = folder.fileDescriptor
        func isPart(_ name: String) throws(TransferError) -> Bool {
            try folder.status(of: name).map { FileIdentity($0) == FileIdentity(checkpoint) } ?? false
        }
        if try !isPart(name) {
            guard try isPart(held) else { return nil }
            let (result, code) = retrying { renameat(directory, held, directory, name) }
            guard result == 0 else { throw .destination(errno: code, "rename", folder.path(of: held)) }
        }
        // If the folder cannot be synced, the bytes can still be used.
        try? folder.sync()
        checkpoint.partPath = folder.path(of: name)
        return checkpoint
    }

    /// Reads or opens the local files that a task names, so that no path is followed twice.
    @inline(never)  // Keeps its locals out of suspended frames.
    func pinned(_ network: Boxed<NetworkOptions>, _ url: String, owner: UserID) async throws -> PinnedFiles {
        if let pinned = pinnedAtOnce(network, url, owner: owner) { return pinned }
        let paths = PinnedFiles.paths(network.wrappedValue, url)
        // First opens each file so that only its own file system can delay that, then reads all of them.
        for path in paths.dropFirst() {
            _ = try? await opening(path) { [access] in try access.openForReading(path, owner: owner) }
        }
        return try await opening(paths.first ?? "/") { [access] in
            try PinnedFiles(network, url, access, owner: owner)
        }
    }

    /// Does the same at once for a task that names no files.
    func pinnedAtOnce(_ network: Boxed<NetworkOptions>, _ url: String, owner: UserID) -> PinnedFiles? {
        guard !PinnedFiles.namesFiles(network), !access.isConfined || !PinnedFiles.isLocal(url)
        else { return nil }
        return try? PinnedFiles(network, url, access, owner: owner)
    }

    /// Tells whether a recent check found enough space. Tasks that begin together need only one check.
    /// - Parameter now: milliseconds of the boot clock.
    func hasSpace(in folder: Folder, leaving minimum: ByteCount, at now: Int64) -> Bool {
        minimum == .zero || spaces.hasSpace(on: folder.device, leaving: minimum, at: now)
    }

    /// - Parameter now: milliseconds of the boot clock.
    /// - Throws: `disk.full` if less than `minimum` bytes would stay free.
    @inline(never)  // Keeps its locals out of suspended frames.
    func requireSpace(in folder: Folder, leaving minimum: ByteCount, at now: Int64) async throws {
        guard minimum > .zero else { return }
        try await pool.run(on: folder.device) { [spaces] in
            guard let free = folder.freeSpace else { return }
            spaces.note(free, on: folder.device, at: now)
            guard free < minimum else { return }
            throw TransferError(
                .diskFull,
                "\(folder.path) has \(QuantityText.rounded(bytes: free.rawValue)) free, and minimumFreeSpace keeps "
                    + "\(QuantityText.rounded(bytes: minimum.rawValue)). Free some; the task resumes by itself.",
                details: ["free": .integer(free.rawValue), "minimum": .integer(minimum.rawValue)])
        }
    }

    func truncate(_ part: PartFile) async throws {
        guard part.isOpen else { return }
        try await pool.run(on: part.device) { () throws(TransferError) in try part.truncate(to: .zero) }
    }

    // MARK: When it arrived

    /// Returns a file that an earlier daemon delivered before it died without recording that.
    @inline(never)  // Keeps its locals out of suspended frames.
    func alreadyDelivered(
        _ plan: DestinationPlan, _ folder: Folder, _ record: TaskRecord, _ policy: EffectivePolicy
    ) async throws -> TaskResult? {
        let coding = record.response?.contentCoding
        guard let wanted = plan.name ?? record.response?.suggestedFilename else { return nil }
        let name = FilenameRules.coded(wanted, coding, fitting: folder.names)
        // An earlier run may have delivered it from memory.
        if record.status.attempts > 1,
            let marked = try await pool.run(
                on: folder.device,
                { [storeID] () throws(TransferError) in
                    try GatheredDelivery.recognised(
                        in: folder, name: name, policy: policy.conflictPolicy, store: storeID, task: record.id,
                        durability: policy.durability)
                })
        {
            return TaskResult(
                file: marked.delivered.path, bytes: marked.delivered.bytes, verified: marked.isProven,
                mark: marked.delivered.mark)
        }
        guard let checkpoint = record.checkpoint else { return nil }
        let found: DeliveredFile? = try await pool.run(on: folder.device) {
            let delivery = try Delivery(
                folder: folder, partName: Self.lastComponent(checkpoint.partPath),
                part: FileIdentity(checkpoint), name: name,
                policy: policy.conflictPolicy, durability: policy.durability)
            // Only a complete part file is ever delivered. Somebody may have moved an incomplete one there.
            return try delivery.recognised(expected: checkpoint.total ?? checkpoint.offset)
        }
        guard let found else { return nil }
        return try await proven(found, checkpoint, record, in: folder)
    }

    /// Compares the complete part file with the most trusted known digest: the user's, or else the server's.
    /// - Returns: every digest that was computed.
    /// - Throws: `integrity.checksum`, `cancelled`, `disk.io`.
    func verify(
        _ part: PartFile, expected: [DigestAlgorithm: String]
    ) async throws -> [DigestAlgorithm: String] {
        guard !expected.isEmpty else { return [:] }
        return try await hashing.runCancellable(on: part.device) { isCancelled throws(TransferError) in
            try Verification.verify(
                file: part.fileDescriptor, path: part.path, expected: expected, isCancelled: isCancelled)
        }
    }

    /// Returns the wrong pieces of a complete part file, numbered from 0.
    /// - Throws: `cancelled`, `disk.io`.
    func wrongPieces(of part: PartFile, _ pieces: PieceDigests, _ map: PieceMap) async throws -> [Int] {
        try await hashing.runCancellable(on: part.device) { isCancelled throws(TransferError) in
            try Verification.wrongPieces(
                file: part.fileDescriptor, path: part.path, pieces, map, isCancelled: isCancelled)
        }
    }

    /// Decodes a body that came coded against our wish into another part file; nil if it is delivered as it came.
    /// - Parameters:
    ///   - codings: the codings to undo, outermost first.
    ///   - told: called with the number of decoded bytes.
    func decoded(
        _ part: PartFile, undoing codings: [ContentCodingRules.Undoable], for record: TaskRecord,
        _ plan: DestinationPlan, in folder: Folder, told: @escaping @Sendable (ByteCount) -> Void = { _ in }
    ) async throws -> (part: PartFile, bytes: ByteCount)? {
        guard !codings.isEmpty else { return nil }
        let decoding = ContentDecoding(codings)
        let unfoldings = unfoldings
        return try await hashing.runCancellable(on: folder.device) { [storeID] isCancelled throws(TransferError) in
            try unfoldings.requireRoom(for: record.id, in: folder)
            let own = PartName.make(task: record.id, store: storeID, wanted: plan.name, attempt: 1)
            let plain = try PartFile.create(
                path: folder.path(of: own), directory: folder.fileDescriptor, replacing: true)
            do throws(TransferError) {
                let bytes = try decoding.decode(
                    coded: part.fileDescriptor, into: plain.fileDescriptor, path: plain.path,
                    isCancelled: isCancelled, told: told)
                unfoldings.note(nil, of: record.id)
                return (plain, bytes)
            } catch {
                unfoldings.note(error, of: record.id)
                folder.unlinkDurably([own])
                throw error
            }
        }
    }

    /// Decodes an answer's body. `then` runs on a thread that may block, and gets nil for a body longer than `limit`.
    /// - Parameter codings: the codings to undo, outermost first.
    func decode(
        _ body: [UInt8], _ codings: [ContentCodingRules.Undoable], atMost limit: ByteCount,
        then: @escaping @Sendable (Result<[UInt8]?, TransferError>) -> Void
    ) {
        hashing.post {
            do throws(TransferError) {
                then(.success(try ContentDecoding(codings).decode(body, atMost: limit)))
            } catch {
                then(.failure(error))
            }
        }
    }

    /// Syncs a part file and returns its length. Only durable bytes may be in a checkpoint.
    func syncedSize(of part: PartFile) async throws -> ByteCount {
        try await pool.run(on: part.device) { () throws(TransferError) in
            try part.sync()
            return ByteCount(Int64(try Self.status(of: part).st_size))
        }
    }

    private static func status(of part: PartFile) throws(TransferError) -> stat {
        guard let status = FileKit.status(of: part.fileDescriptor) else {
            throw .destination(errno: errno, "look at", part.path)
        }
        return status
    }

    /// Delivers a complete part file under its final name.
    func deliver(
        _ part: PartFile, to folder: Folder, name: String, _ policy: EffectivePolicy, modificationTime: Int64?
    ) async throws -> DeliveredFile {
        try await deliveryPool(policy).runSynced(in: folder) { () throws(TransferError) in
            let placed = try Delivery(
                folder: folder, partName: Self.lastComponent(part.path),
                part: FileIdentity(part), name: name,
                policy: policy.conflictPolicy, modificationTime: modificationTime, durability: policy.durability
            ).place()
            return (placed.delivered, placed.unsynced)
        }
    }

    /// Removes an empty part file, so that a failed task leaves nothing behind.
    @inline(never)  // Keeps its locals out of suspended frames.
    func removeIfEmpty(_ part: PartFile, from folder: Folder) async {
        guard part.isOpen else { return }
        await pool.run(on: folder.device) {
            var status = stat()
            guard fstat(part.fileDescriptor, &status) == 0, status.st_size == 0 else { return }
            folder.unlinkDurably([Self.lastComponent(part.path)])
        }
    }

    func remove(_ part: PartFile, from folder: Folder) async {
        await pool.run(on: folder.device) { folder.unlinkDurably([Self.lastComponent(part.path)]) }
    }

    static func lastComponent(_ path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) } ?? path
    }

    static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}

// MARK: - Proof

/// The attributes that change when somebody writes to a file.
/// The times are nanoseconds since 1970.
typealias PartStamp = (bytes: Int64, modified: Int64, changed: Int64)

/// What can be checked of a part file without reading it.
extension TransferFiles {
    /// The durable length of a part file; 0 if it was removed.
    func heldSize(of part: PartFile) async throws -> ByteCount {
        try await pool.run(on: part.device) { () throws(TransferError) in
            if let status = FileKit.status(of: part.fileDescriptor), status.st_nlink == 0 { return .zero }
            try part.sync()
            return ByteCount(Int64(try Self.status(of: part).st_size))
        }
    }

    /// Tells whether a part file still has its name, so that it is not delivered yet.
    func isNamed(_ part: PartFile, in folder: Folder) async -> Bool {
        await pool.run(on: folder.device) { (try? folder.status(of: Self.lastComponent(part.path))) != nil }
    }

    /// Checks a complete part file: it has its name, its length and all its bytes.
    /// - Parameter findingHoles: must be true if no digest is compared.
    /// - Throws: `disk.io` if the folder was removed; `integrity.checksum` if the part file is damaged, in which case
    ///   fetching again may help.
    @inline(never)  // Keeps its locals out of suspended frames.
    func look(
        at part: PartFile, of total: ByteCount, in folder: Folder, findingHoles: Bool = false
    ) async throws -> PartStamp {
        try await pool.run(on: part.device) { () throws(TransferError) in
            let status = try Self.status(of: part)
            try folder.requirePresent()
            let named = try folder.status(of: Self.lastComponent(part.path))
            guard !part.isDamaged, status.st_size == off_t(total.rawValue),
                named.map({ FileIdentity($0) == FileIdentity(part) }) ?? false,
                !findingHoles || !part.hasHole(in: ByteRangeSet([ByteRange(.zero, total)]))
            else { throw Self.damage(noted: part) }
            return (Int64(status.st_size), nanoseconds(status.st_mtim), nanoseconds(status.st_ctim))
        }
    }

    /// Part files of such tasks may have holes that are not damage.
    static func mayHaveHoles(_ record: TaskRecord) -> Bool {
        record.spec.url.flatMap { try? URLRules.parse($0) }?.scheme == .file
    }

    static func damage(noted part: PartFile) -> TransferError {
        part.noteDamage()
        return damage(of: part)
    }

    static func damage(of part: PartFile) -> TransferError {
        TransferError(
            .integrityChecksum,
            "\(part.path) was changed while it was being downloaded: something else writes to it. "
                + "It is not delivered; it is fetched again.", details: ["path": .string(part.path)])
    }

    /// Verifies a file that an earlier daemon seems to have delivered, because somebody may have given the name to an
    /// incomplete part file.
    /// - Returns: nil if it is not what the task wants.
    /// - Throws: `cancelled`, `disk.*`.
    func proven(
        _ file: DeliveredFile, _ checkpoint: Checkpoint, _ record: TaskRecord, in folder: Folder
    ) async throws -> TaskResult? {
        var expected: [DigestAlgorithm: String] = [:]
        for (name, value) in checkpoint.serverDigests {
            if let algorithm = DigestAlgorithm(rawValue: name) { expected[algorithm] = value }
        }
        if let checksum = record.spec.checksum { expected = [checksum.algorithm: checksum.value] }
        let mayHaveHoles = Self.mayHaveHoles(record)
        return try await hashing.runCancellable(on: folder.device) { [expected] isCancelled throws(TransferError) in
            let (opened, _) = retrying {
                openat(folder.fileDescriptor, file.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            }
            guard opened >= 0 else { return nil }
            let descriptor = Descriptor(opened)
            guard let status = FileKit.status(of: opened), FileIdentity(status) == FileIdentity(checkpoint),
                !expected.isEmpty || mayHaveHoles || !PartFile.hasHole(opened, upTo: file.bytes)
            else { return nil }
            var result = TaskResult(file: file.path, bytes: file.bytes, verified: !expected.isEmpty, mark: file.mark)
            do throws(TransferError) {
                let digests = try Verification.verify(
                    file: descriptor.rawValue, path: file.path, expected: expected, isCancelled: isCancelled)
                result.sha256 = digests[.sha256]
            } catch {
                guard error.code == .integrityChecksum else { throw error }
                return nil
            }
            return result
        }
    }
}

extension FileIdentity {
    init(_ part: PartFile) { self.init(device: part.device, inode: part.inode) }
}
