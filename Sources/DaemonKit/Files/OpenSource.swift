import CurlEngine

/// The engine's open source of an upload.
typealias OpenSource = UploadSource
