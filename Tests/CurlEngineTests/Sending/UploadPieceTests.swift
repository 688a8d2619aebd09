import Testing

@testable import CurlEngine

struct UploadPieceTests {
    /// The memory for the pieces of all uploads and for libcurl's own buffers.
    private func memory(of uploads: Int) -> Int {
        let piece = FileSide.piece(of: uploads)
        let copies = piece > BufferPool.smallSize ? 2 : 1
        return uploads * (piece * copies + min(piece, 64 << 10))
    }

    @Test func theMemoryOfAllUploadsIsBounded() {
        for uploads in 1...256 { #expect(memory(of: uploads) <= 8 << 20, "\(uploads)") }
    }

    @Test func oneUploadReadsMuchAtATime() {
        #expect(FileSide.piece(of: 1) == BufferPool.largeSize)
    }
}
